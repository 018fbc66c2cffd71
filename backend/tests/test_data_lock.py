"""Two servers with the same data and sockets, as after `docker compose up --scale backend=2`."""

import re
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from forked import Forked
from running_backend import SERVE, Backend, ask
from support.http import request
from support.wait import wait_until


@pytest.fixture
def sockets() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:  # a socket's path has to be short
        yield Path(folder) / "backend"


class Waiting:
    """A second process on the folder of a running server."""

    def __init__(self, server: Backend, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.out, self.errors = folder / "out", folder / "errors"
        self.process = Forked(SERVE, server.env, self.out, self.errors)
        waits = re.compile(rf"-> FLOCK .* {self.process.pid} ")
        wait_until(lambda: waits.search(Path("/proc/locks").read_text()), within=20)


def test_a_second_server_says_what_to_do_and_waits_for_the_first(tmp_path: Path, sockets: Path) -> None:
    first = Backend(tmp_path, UPSTAGE_SOCKETS=str(sockets))
    second = Waiting(first, tmp_path / "second")
    [line] = second.errors.read_text().splitlines()
    assert line.startswith(f"upstage: another server serves {first.data}; this one waits")
    assert "make up THEATRES=second" in line
    assert "make up EXTRAS=mirror" in line
    assert second.process.poll() is None
    assert second.out.read_text() == ""  # no listener, no seeding
    assert ask(first, "/health").status == 200
    assert request(Path(f"{sockets}.sock"), "/health").status == 200

    first.kill()
    wait_until(lambda: '"event": "ready"' in second.out.read_text(), within=20)
    assert request(Path(f"{sockets}.sock"), "/health").status == 200
    second.process.terminate()
    assert second.process.wait(20) == 0
    assert len(second.errors.read_text().splitlines()) == 1


def test_a_stopped_server_gives_the_folder_away_and_a_waiting_one_can_be_stopped(
    tmp_path: Path, sockets: Path
) -> None:
    first = Backend(tmp_path, UPSTAGE_SOCKETS=str(sockets))
    second, third = Waiting(first, tmp_path / "second"), Waiting(first, tmp_path / "third")
    third.process.terminate()
    assert third.process.wait(5) == -signal.SIGTERM
    assert ask(first, "/health").status == 200
    assert first.stop() == 0
    wait_until(lambda: '"event": "ready"' in second.out.read_text(), within=20)
    second.process.terminate()
    assert second.process.wait(20) == 0
