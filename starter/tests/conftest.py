"""Starts the starter as a stranger does: copied into an empty folder, one line changed, `docker compose up`.

With STARTER_HTTP (and the other variables of test_promises.py) the tests ask a starter that runs already.
"""

import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.ports import free_ports

STARTER = Path(__file__).parent.parent
PROJECT = f"{os.environ.get('COMPOSE_PROJECT_NAME', 'proscenium')}-test-starter"
STARTED_HERE = "STARTER_HTTP" not in os.environ
if STARTED_HERE:
    http, https, app = free_ports(3)
    os.environ |= {
        "STARTER_HTTP": f"http://localhost:{http}",
        "STARTER_HTTPS": f"https://localhost:{https}",
        "STARTER_APP_PORT": str(app),
        "STARTER_TOKEN": secrets.token_hex(16),
    }


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


@pytest.fixture(scope="session", autouse=True)
def starter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The running starter, in front of app.py on this machine."""
    if not STARTED_HERE:
        yield
        return
    folder = tmp_path_factory.mktemp("shop")
    shutil.copytree(STARTER, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("tests", "recipes"))
    settings = folder / ".env"
    text = settings.read_text().replace("APP=app:8000", f"APP=host.docker.internal:{app}")
    ports = f"SITE=localhost:{http}\nHTTP_PORT={http}\nHTTPS_PORT={https}\n"
    settings.write_text(f"{text}{ports}PURGE_TOKEN={os.environ['STARTER_TOKEN']}\n")
    try:
        compose(folder, "up", "--detach", "--wait")
        yield
    finally:
        compose(folder, "down", "--volumes", "--timeout", "2")
