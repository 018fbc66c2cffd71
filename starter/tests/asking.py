"""A client of the running starter, and the application behind it (app.py)."""

import http.client
import os
import re
import secrets
import shutil
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.ports import free_ports
from tests.support.wait import wait_until

STARTER = Path(__file__).parent.parent
PROJECT = f"{os.environ.get('COMPOSE_PROJECT_NAME', 'proscenium')}-test-starter"
HTTP_PORT, HTTPS_PORT, APP_PORT = free_ports(3)
HTTP, HTTPS = f"http://localhost:{HTTP_PORT}", f"https://localhost:{HTTPS_PORT}"
TOKEN = secrets.token_hex(16)
BOTH = pytest.mark.parametrize("base", [HTTP, HTTPS], ids=["http", "https"])
MEGABYTE = 1 << 20
New = Callable[[str], str]


@dataclass
class Response:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode(errors="replace")

    @property
    def cache(self) -> str:
        return self.headers.get("Cache-Status", "")

    @property
    def hit(self) -> bool:
        return "; hit" in self.cache


def connect(base: str = HTTP) -> http.client.HTTPConnection:
    url = urlsplit(base)
    assert url.hostname
    if url.scheme == "https":
        context = ssl._create_unverified_context()  # the certificate is one for a trial
        return http.client.HTTPSConnection(url.hostname, url.port, timeout=90, context=context)
    return http.client.HTTPConnection(url.hostname, url.port, timeout=90)


def ask(
    path: str,
    method: str = "GET",
    *,
    base: str = HTTP,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    **more_headers: str,
) -> Response:
    sent = {**(headers or {}), **{name.replace("_", "-"): value for name, value in more_headers.items()}}
    connection = connect(base)
    try:
        connection.request(method, path, body, sent)
        response = connection.getresponse()
        return Response(response.status, response.headers, response.read())
    finally:
        connection.close()


def compose(folder: Path, *command: str) -> str:
    """Return the output of `docker compose` in a folder, without the settings of `make test`."""
    ours = re.compile("PATH|HOME|DOCKER_.*|.*_IMAGE")
    done = subprocess.run(
        ("docker", "compose", *command),
        cwd=folder,
        env={name: value for name, value in os.environ.items() if ours.fullmatch(name)}
        | {"COMPOSE_PROJECT_NAME": PROJECT},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@contextmanager
def started(folder: Path, settings: str = "") -> Iterator[None]:
    """Run the copy of the starter in this folder, with these lines in its .env."""
    with (folder / ".env").open("a") as file:
        file.write(
            f"PUBLIC_NAME=localhost:{HTTP_PORT}\nHTTP_PORT={HTTP_PORT}\nHTTPS_PORT={HTTPS_PORT}\n{settings}"
        )
    try:
        compose(folder, "up", "--detach", "--wait", "--build")
        yield
    finally:
        compose(folder, "down", "--volumes", "--rmi", "local", "--timeout", "2")


def copy_with(name: str, folder: Path) -> None:
    """Copy the starter to a folder, and an application of applications/ to its folder `app`."""
    shutil.copytree(STARTER, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("tests"))
    shutil.copytree(STARTER / "tests" / "applications" / name, folder / "app")
    services = (folder / "compose.yaml").read_text()
    build = 'build: { context: ./app, args: { PYTHON_IMAGE: "${PYTHON_IMAGE:-python:3.13-slim}" } }\n'
    environment = (
        f'    environment:\n      PUBLIC_NAME: "localhost:{HTTP_PORT}"\n'
        "      PURGE_TOKEN:\n      VARNISH_PURGE_URL:\n"
    )
    services, count = re.subn(
        r"image: \$\{PYTHON_IMAGE.*?    environment:\n[^\n]*\n",
        lambda _: build + environment,
        services,
        count=1,
        flags=re.S,
    )
    assert count == 1
    (folder / "compose.yaml").write_text(services)


class App:
    """Runs app.py as a separate process."""

    process: subprocess.Popen[bytes] | None = None

    def __init__(self, folder: Path) -> None:
        self.folder = folder  # the starter's

    def start(self) -> None:
        file = Path(__file__).with_name("app.py")
        self.process = subprocess.Popen([sys.executable, file, "0.0.0.0", str(APP_PORT)])
        wait_until(lambda: socket.create_connection(("127.0.0.1", APP_PORT), 1)).close()

    def stop(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None
