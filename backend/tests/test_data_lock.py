"""The data folder: one server at a time, and no damaged database is replaced silently."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from backend.tests.forked import Forked, run_upstage
from backend.tests.running_backend import SERVE, Backend, ask
from tests.support.http import request
from tests.support.wait import wait_until
from upstage.state import data_lock
from upstage.state.database import FILE

PATIENT, IMPATIENT = (
    ["-c", f"from upstage.state import data_lock; data_lock.PATIENCE = {seconds}; {SERVE[1]}"]
    for seconds in (60, 1)
)


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
    second = Second(first, tmp_path / "second", IMPATIENT)
    assert second.process.wait(60) == 1
    [line] = second.errors.read_text().splitlines()
    assert line.startswith(
        f"upstage: another server of this stack, or a restore, is running: it holds {first.data}/.serving"
    )
    assert "make up THEATRES=second" in line
    [said] = second.out.read_text().splitlines()  # no listener, no seeding
    assert json.loads(said)["event"] == data_lock.WAITS
    assert ask(first, "/health").status == 200
    assert request(Path(f"{sockets}.sock"), "/health").status == 200
    first.end()


def test_a_server_waits_for_one_that_is_ending(tmp_path: Path, sockets: Path) -> None:
    first = Backend(tmp_path, UPSTAGE_SOCKETS=str(sockets))
    second = Second(first, tmp_path / "second", PATIENT)
    wait_until(lambda: data_lock.WAITS in second.out.read_text())
    assert second.out.read_text().count("\n") == 1
    assert first.stop() == 0
    wait_until(lambda: '"event": "ready"' in second.out.read_text())
    second.process.terminate()
    assert second.process.wait(60) == 0


VANISHED = "there was no database, though there are media: accounts, stages and chat start over"


def test_a_server_starts_on_no_damaged_database_and_says_what_to_type(tmp_path: Path) -> None:
    backend = Backend(tmp_path)
    backend.end()
    assert not backend.logged(VANISHED)
    status, _, errors = run_upstage("set-aside", env=backend.env)
    assert (status, errors) == (1, f"upstage: there is no damaged database in {backend.data}\n")
    with (backend.data / FILE).open("r+b") as database:
        database.seek(4096)
        database.write(b"\xa5" * 3000)
    damaged = (backend.data / FILE).read_bytes()
    status, _, errors = run_upstage("serve", env=backend.env)
    assert status == 1
    assert f"{backend.data / FILE} is damaged" in errors
    assert errors.count("\n") == 1
    assert "backend upstage set-aside" in errors
    status, output, _ = run_upstage("set-aside", env=backend.env)
    [kept] = backend.data.glob("damaged-*.db")
    assert (status, output) == (0, f"kept as {kept}; the server's next start makes a new database\n")
    assert kept.read_bytes() == damaged
    backend = Backend(tmp_path)
    assert backend.logged(VANISHED)
    backend.end()
