"""A disk that is slow or full: chat goes on, and no data are lost."""

import sqlite3
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import capturedLogs

from backend.tests.fake_reactor import Worker
from backend.tests.running_backend import DRAWING, FORM, PASSWORD, Backend, Editor, ask, opened
from upstage.stage.kept import Change, Line
from upstage.state.database import LOCK_TIME
from upstage.state.records import Locked, NoRoom
from upstage.state.store import MAX_QUEUE, RETRY, SHORT_WAIT, Store


class Disk(Worker):
    """A database whose disk works when the test says so, or slowly."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.written: list[tuple[str, Change]] = []
        self.said: list[str] = []
        self.waits: list[float] = []
        self.problem: Exception | None = None
        self.clock = Clock()
        self.store = Store(self, self.clock)  # type: ignore[arg-type]
        monkeypatch.setattr(self.store, "run", self.run)
        monkeypatch.setattr(self.store, "_thread", self)

    def keep(self, changes: Iterable[tuple[str, Change]], wait: float) -> None:
        self.waits.append(wait)
        if self.problem:
            raise self.problem
        self.written += changes

    def close(self) -> None:
        """Do nothing, in place of closing the database."""

    def stop(self) -> None:
        """Do nothing, in place of stopping the thread."""

    def hear(self, line: str) -> None:
        self.store.keep("demo", [Line(line)], partial(self.said.append, line))


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


def test_a_line_is_sent_in_order_when_it_is_on_the_disk(disk: Disk) -> None:
    for line in ("one", "two", "three"):
        disk.hear(line)
    assert (disk.said, disk.written) == ([], [])
    disk.turn()
    assert disk.said == ["one"]  # the others have gathered in the meantime
    disk.hear("four")
    disk.turn()
    assert disk.said == ["one", "two", "three"]
    disk.turn()
    assert disk.said == ["one", "two", "three", "four"]
    assert disk.written == [("demo", Line(line)) for line in disk.said]
    assert not disk.waiting


@pytest.mark.parametrize(
    "problem",
    [
        NoRoom("the disk is full"),
        Locked("another program has it"),
        sqlite3.OperationalError("disk I/O error"),
    ],
)
def test_unwritten_lines_are_sent_at_once_and_written_later(disk: Disk, problem: Exception) -> None:
    disk.problem = problem
    disk.hear("one")
    disk.hear("two")
    with capturedLogs() as logged:
        disk.turn()
    assert [event["fields"]["reason"] for event in logged] == [str(problem)]
    assert disk.said == ["one", "two"]
    disk.hear("three")
    assert disk.said == ["one", "two", "three"]
    assert (disk.written, list(disk.waiting)) == ([], [])
    disk.clock.advance(RETRY)
    disk.hear("four")  # while earlier lines are being written
    assert disk.said == ["one", "two", "three", "four"]
    disk.turn()
    disk.problem = None
    disk.clock.advance(RETRY)
    disk.hear("five")
    disk.turn()
    disk.turn()
    assert disk.said == ["one", "two", "three", "four", "five"]
    assert disk.written == [("demo", Line(line)) for line in disk.said]
    assert disk.store.outcomes == {"kept": 5, "lost": 0}
    assert disk.waits == [SHORT_WAIT, 0, 0, 0]
    assert disk.clock.getDelayedCalls() == []
    disk.hear("six")
    assert disk.said[-1] == "five"  # again not before it is on the disk
    disk.turn()
    assert disk.said[-1] == "six"


def test_a_stop_writes_what_could_not_be_written_before(disk: Disk) -> None:
    disk.problem = Locked("another program has it")
    disk.hear("one")
    disk.turn()
    disk.clock.advance(RETRY)
    stopped = Deferred.fromCoroutine(disk.store.stop())
    disk.turn()  # the attempt that has begun
    disk.problem = None
    while disk.waiting:
        disk.turn()
    assert stopped.called
    assert disk.written == [("demo", Line("one"))]
    assert disk.waits == [SHORT_WAIT, 0, LOCK_TIME]
    assert disk.clock.getDelayedCalls() == []


def test_an_error_of_the_program_does_not_stop_the_chat(disk: Disk) -> None:
    disk.problem = TypeError("a bug")
    disk.hear("lost")
    with capturedLogs() as logged:
        disk.turn()
    assert disk.said == ["lost"]
    assert [event["log_format"] for event in logged] == ["changes of stages could not be written"]
    disk.problem = None
    disk.hear("kept")
    disk.turn()
    assert disk.said == ["lost", "kept"]
    assert disk.store.outcomes == {"kept": 1, "lost": 1}


def test_lines_that_wait_for_the_disk_are_bounded(disk: Disk) -> None:
    """If one more comes, all are sent, in order, and written later."""
    for number in range(MAX_QUEUE + 10):
        disk.hear(str(number))
    assert disk.said == [str(number) for number in range(MAX_QUEUE)]
    assert disk.store.outcomes["lost"] == 0
    disk.problem = Locked("another program has it")
    disk.turn()
    assert disk.said == [str(number) for number in range(MAX_QUEUE + 10)]
    assert (disk.store.queued, disk.store.outcomes["lost"]) == (MAX_QUEUE, 10)  # the oldest
    disk.hear("one more")
    assert (disk.store.queued, disk.store.outcomes["lost"]) == (MAX_QUEUE, 11)
    disk.problem = None
    disk.clock.advance(RETRY)
    while disk.waiting:
        disk.turn()
    assert disk.written == [("demo", Line(str(number))) for number in range(11, MAX_QUEUE + 10)] + [
        ("demo", Line("one more"))
    ]


# While the file named on the command line is there, the disk is full.
RUN = """
import sys
from contextlib import contextmanager
from pathlib import Path
from upstage import cli
from upstage.state.database import Database
from upstage.state.records import NoRoom
full, writing = Path(sys.argv[1]), Database._writing
@contextmanager
def on_a_disk(database, *wait):
    with writing(database, *wait) as sql:
        yield sql
        if full.exists():
            raise NoRoom("the disk is full")
Database._writing = on_a_disk
sys.exit(cli.main(["serve"]))
"""


def test_the_pages_report_a_full_disk_and_keep_their_data(tmp_path: Path) -> None:
    full = tmp_path / "full"
    server = Backend(tmp_path, ["-c", RUN, str(full)], UPSTAGE_ADMIN_PASSWORD=PASSWORD, UPSTAGE_SIGNUP="open")
    editor = Editor(server)
    cookie, csrf = opened(server, "/signup")
    visitor = f"csrf={csrf}&username=new&password=12345678".encode()
    before = sorted(server.media.iterdir())
    full.touch()
    for response in (
        editor.post("/admin/workshop/stages", action="make", id="attic", name="x"),
        editor.upload("/admin/workshop/media", DRAWING % b"x", name="x", kind="prop"),
        editor.post("/admin/workshop/players", action="add", name="ann", password="12345678"),
        ask(server, "/signup", "POST", visitor, Cookie=cookie, **FORM),
    ):
        assert response.status == 507
        assert b"disk is full" in response.body
    assert sorted(server.media.iterdir()) == before
    assert ask(server, "/stages/attic").status == 404
    full.unlink()
    assert editor.post("/admin/workshop/stages", action="make", id="attic", name="x").status == 302
    assert ask(server, "/stages/attic").status == 200
    assert server.logged("nothing was written")
    server.end()
