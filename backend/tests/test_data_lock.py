"""Two servers with the same data and sockets, as after `docker compose up --scale backend=2`."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from forked import Forked
from running_backend import SERVE, Backend, ask
from support.http import request
from support.wait import wait_until

PATIENT = ["-c", f"from upstage.state import data_lock; data_lock.PATIENCE = 60; {SERVE[1]}"]


@pytest.fixture
def sockets() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:  # a socket's path has to be short
        yield Path(folder) / "backend"


class Second:
    """A second process on the folder of a running server."""

    def __init__(self, server: Backend, folder: Path, command: list[str] = SERVE) -> None:
        folder.mkdir()
        self.out, self.errors = folder / "out", folder / "errors"
        self.process = Forked(command, server.env, self.out, self.errors)


def test_a_second_server_says_what_to_do_and_ends(tmp_path: Path, sockets: Path) -> None:
    first = Backend(tmp_path, UPSTAGE_SOCKETS=str(sockets))
    second = Second(first, tmp_path / "second")
    assert second.process.wait(20) == 1
    [line] = second.errors.read_text().splitlines()
    assert line.startswith(
        f"upstage: another server of this stack, or a restore, is running: it holds {first.data}/.serving"
    )
    assert "make up THEATRES=second" in line
    assert "make up EXTRAS=mirror" in line
    assert second.out.read_text() == ""  # no listener, no seeding
    assert ask(first, "/health").status == 200
    assert request(Path(f"{sockets}.sock"), "/health").status == 200
    first.kill()
    third = Backend(tmp_path, UPSTAGE_SOCKETS=str(sockets))
    assert request(Path(f"{sockets}.sock"), "/health").status == 200
    assert third.stop() == 0


def test_a_server_waits_for_one_that_is_ending(tmp_path: Path, sockets: Path) -> None:
    first = Backend(tmp_path, UPSTAGE_SOCKETS=str(sockets))
    second = Second(first, tmp_path / "second", PATIENT)
    locked = Path(f"/proc/{second.process.pid}/fd")
    wait_until(lambda: any(file.resolve() == first.data / ".serving" for file in locked.iterdir()), within=20)
    assert second.out.read_text() == ""
    assert first.stop() == 0
    wait_until(lambda: '"event": "ready"' in second.out.read_text(), within=20)
    second.process.terminate()
    assert second.process.wait(20) == 0
