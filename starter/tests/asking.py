"""A client of the running starter, and the nasty application behind it (app.py)."""

import concurrent.futures
import http.client
import json
import os
import re
import secrets
import socket
import ssl
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from support.ports import free_ports

# Variables name a starter that runs already: its addresses, PURGE_TOKEN of its .env, and the port where
# app.py is to listen, as APP says. Without them conftest.py starts one.
RUNS_ALREADY = "STARTER_HTTP" in os.environ
STARTER = Path(__file__).parent.parent
PROJECT = f"{os.environ.get('COMPOSE_PROJECT_NAME', 'proscenium')}-test-starter"
HTTP_PORT, HTTPS_PORT, APP_PORT = free_ports(3)
HTTP = os.environ.get("STARTER_HTTP", f"http://localhost:{HTTP_PORT}")
HTTPS = os.environ.get("STARTER_HTTPS", f"https://localhost:{HTTPS_PORT}")
TOKEN = os.environ.get("STARTER_TOKEN", "" if RUNS_ALREADY else secrets.token_hex(16))
APP_PORT = int(os.environ.get("STARTER_APP_PORT", APP_PORT))
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
    user: str = "",
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    **more_headers: str,
) -> Response:
    sent = {**(headers or {}), **{name.replace("_", "-"): value for name, value in more_headers.items()}}
    if user:
        sent["Cookie"] = f"user={user}"
    connection = connect(base)
    try:
        connection.request(method, path, body, sent)
        response = connection.getresponse()
        return Response(response.status, response.headers, response.read())
    finally:
        connection.close()


def at_once(count: int, task: Callable[[], Response]) -> tuple[float, list[Response]]:
    """The seconds that this many clients need together, and what they get."""
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        responses = list(pool.map(lambda _: task(), range(count)))
    return time.monotonic() - begin, responses


def compose(folder: Path, *command: str) -> str:
    """Run `docker compose` there, without the settings of `make test`; its output."""
    ours = {
        "PATH",
        "HOME",
        *(name for name in os.environ if name.startswith("DOCKER_") or name.endswith("_IMAGE")),
    }
    done = subprocess.run(
        ("docker", "compose", *command),
        cwd=folder,
        env={name: value for name, value in os.environ.items() if name in ours}
        | {"COMPOSE_PROJECT_NAME": PROJECT},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@contextmanager
def started(folder: Path) -> Iterator[None]:
    """The starter in this folder, in front of the application whose Dockerfile is in folder/app."""
    services = (folder / "compose.yaml").read_text()
    build = 'build: { context: ./app, args: { PYTHON_IMAGE: "${PYTHON_IMAGE:-python:3.13-slim}" } }\n'
    site = f'    environment: {{ SITE: "localhost:{HTTP_PORT}" }}\n'
    services, count = re.subn(
        r"image: \$\{PYTHON_IMAGE.*?    environment: [^\n]*\n",
        lambda _: build + site,
        services,
        count=1,
        flags=re.S,
    )
    assert count == 1
    (folder / "compose.yaml").write_text(services)
    with (folder / ".env").open("a") as settings:
        settings.write(f"SITE=localhost:{HTTP_PORT}\nHTTP_PORT={HTTP_PORT}\nHTTPS_PORT={HTTPS_PORT}\n")
    try:
        compose(folder, "up", "--detach", "--wait", "--build")
        yield
    finally:
        compose(folder, "down", "--volumes", "--rmi", "local", "--timeout", "2")


class App:
    """app.py as a process of its own."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.process = subprocess.Popen([sys.executable, Path(__file__).with_name("app.py"), str(APP_PORT)])
        for _ in range(100):
            try:
                socket.create_connection(("127.0.0.1", APP_PORT), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise TimeoutError("app.py does not listen")

    def stop(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def read(self, path: str) -> dict[str, float]:
        with urllib.request.urlopen(f"http://127.0.0.1:{APP_PORT}{path}") as response:
            answer: dict[str, float] = json.load(response)
        return answer

    def asked(self, path: str) -> float:
        return self.read("/asked").get(path, 0)
