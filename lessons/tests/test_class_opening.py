"""`make class`: what is open, tried again and left out when copies do not start. No containers: each copy's
`bin/up` is a script that fails as often as a test says."""

import os
import re
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from lessons.classroom import opening
from lessons.classroom.class_state import ClassState
from lessons.classroom.engine import EngineError, handle_interrupts
from lessons.classroom.opening import check_room, open_class, reason_in
from lessons.classroom.plan import Copy, PlanError

UP = """#!/bin/sh
echo up >>../../tried-$(basename "$PWD")
[ "$(wc -l <../../tried-$(basename "$PWD"))" -le "$(cat fails)" ] || exit 0
echo '==> backend (3 s)'
echo 'Listening.'
echo 'varnish did not become healthy.'
echo 'varnish: Error: no room'
exit 1
"""


class Room:
    """A folder with a class whose copies are scripts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.opened = ClassState.new(folder / "class", "x", {})
        self.fails: dict[int, int] = {}  # how often the start of a copy fails
        self.up = UP
        self.removed: list[int] = []

    def make_checkout(self, opened: ClassState, copy: Copy) -> None:
        file = opened.folder_of(copy) / "bin" / "up"
        file.parent.mkdir(parents=True)
        file.write_text(self.up)
        file.chmod(0o755)
        (opened.folder_of(copy) / "fails").write_text(str(self.fails.get(copy.number, 0)))

    def open(self, number: int) -> tuple[int, list[int], list[str]]:
        """The exit code, how often each copy was started, and the folders that are left."""
        code = open_class(self.opened, number)
        logs = [self.folder / f"tried-{one:02}" for one in range(1, number + 1)]
        tried = [len(log.read_text().splitlines()) if log.exists() else 0 for log in logs]
        return code, tried, sorted(path.name for path in (self.folder / "class").glob("[0-9]*"))


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Room]:
    """No class is open."""
    room = Room(tmp_path)
    monkeypatch.setattr(opening, "REPO", tmp_path)
    monkeypatch.setattr(opening, "LOGS", tmp_path / "logs")
    monkeypatch.setattr(opening, "make_checkout", room.make_checkout)
    monkeypatch.setattr(opening, "remove", lambda copy: room.removed.append(copy.number))
    monkeypatch.setattr(opening, "check_room", lambda opened, new: None)
    handlers = {name: signal.getsignal(name) for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield room
    for name, handler in handlers.items():
        signal.signal(name, handler)


Printed = pytest.CaptureFixture[str]


def test_a_copy_that_fails_once_is_started_again_after_its_stack_is_removed(
    room: Room, capsys: Printed
) -> None:
    room.fails = {2: 1}
    assert room.open(3) == (0, [1, 2, 1], ["01", "02", "03"])
    assert room.removed == [2]
    printed, errors = capsys.readouterr()
    assert re.search(
        r"copy 02 did not start \(\d+ s\): varnish did not become healthy\. varnish: Error", printed
    )
    assert re.search(r"copy 02 is running \(\d+ s\)\n", printed)
    assert errors == ""


def test_the_screen_shows_no_password_but_where_they_are(room: Room, capsys: Printed) -> None:
    assert open_class(room.opened, 2) == 0
    printed = capsys.readouterr().out
    assert "http://localhost:20280/" in printed
    assert "with the passwords: class/handout.md and handout.csv" in printed
    handout = (room.folder / "class" / "handout.md").read_text()
    for entry in room.opened.entries.values():
        assert not {entry.admin, entry.locust} & set(printed.split())
        assert f"| {entry.admin} |" in handout


def test_a_copy_that_fails_twice_is_left_out_and_the_others_stay_open(room: Room, capsys: Printed) -> None:
    room.fails = {2: 9}
    assert room.open(3) == (1, [1, 2, 1], ["01", "03"])
    kept = ClassState.load(room.folder / "class", {})
    assert kept
    assert sorted(kept.entries) == [1, 3]
    for handout in ("handout.md", "handout.csv"):
        text = (room.folder / "class" / handout).read_text()
        assert "20380" in text
        assert "20280" not in text
    assert capsys.readouterr().err.splitlines()[0] == (
        "2 of 3 copies are open. Copy 2 did not start: varnish did not become healthy. "
        "varnish: Error: no room. Try it again: make class N=3"
    )
    assert "Listening." in (room.folder / "logs" / "class-02.log").read_text()

    (room.folder / "tried-02").unlink()
    room.fails = {}
    assert room.open(3) == (0, [1, 1, 1], ["01", "02", "03"])


def test_a_reason_that_concerns_every_new_copy_leaves_nothing(room: Room, capsys: Printed) -> None:
    room.fails = dict.fromkeys(range(1, 5), 9)
    assert room.open(4) == (1, [2, 1, 1, 1], [])
    assert not (room.folder / "class").exists()
    assert set(room.removed) == {1, 2, 3, 4}
    assert "0 of 4 copies are open. Copies 1, 2, 3, 4 did not start: varnish" in capsys.readouterr().err


def test_new_copies_that_all_fail_leave_the_open_ones_alone(room: Room) -> None:
    assert room.open(1)[0] == 0
    room.fails = dict.fromkeys((2, 3), 9)
    assert room.open(3) == (1, [1, 2, 1], ["01"])
    assert 1 not in room.removed


def test_a_stack_that_cannot_be_removed_is_named_and_costs_no_other_copy(
    room: Room, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    def remove(copy: Copy) -> None:
        raise EngineError("it does not answer")

    monkeypatch.setattr(opening, "remove", remove)
    room.fails = {1: 9}
    assert room.open(2) == (1, [1, 1], ["02"])
    first, second, *_ = capsys.readouterr().err.splitlines()
    assert first == "The stack of copy 1 could not be removed: it does not answer"
    assert "Copy 1 did not start: it does not answer." in second


@pytest.mark.parametrize("ended", [False, True], ids=["", "a start has just ended by itself"])
def test_an_interrupt_ends_and_removes_all_new_copies(
    room: Room, monkeypatch: pytest.MonkeyPatch, ended: bool
) -> None:
    def killpg(group: int, number: int, real: Callable[[int, int], None] = os.killpg) -> None:
        real(group, number)
        if ended:
            raise ProcessLookupError

    monkeypatch.setattr(os, "killpg", killpg)
    handle_interrupts()
    room.up = f"#!/bin/sh\nkill -INT {os.getpid()}\nexec sleep 60\n"
    with pytest.raises(KeyboardInterrupt):
        open_class(room.opened, 2)
    assert set(room.removed) == {1, 2}
    assert not (room.folder / "class").exists()


def test_an_error_that_concerns_all_copies_removes_the_new_ones(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make_checkout(opened: ClassState, copy: Copy) -> None:
        raise PlanError("no space left")

    def remove(copy: Copy) -> None:
        os.kill(os.getpid(), signal.SIGINT)  # Ctrl-C does not stop it
        room.removed.append(copy.number)

    monkeypatch.setattr(opening, "make_checkout", make_checkout)
    monkeypatch.setattr(opening, "remove", remove)
    handle_interrupts()
    with pytest.raises(PlanError, match="no space left"):
        open_class(room.opened, 2)
    assert set(room.removed) == {1, 2}
    assert not (room.folder / "class").exists()


@pytest.mark.parametrize(
    ("printed", "reason"),
    [
        ("a\nPort 20180 is taken by another program.\n", "Port 20180 is taken by another program."),
        ("x\nno package\nFailed: build (full output: l)", "no package Failed: build (full output: l)"),
        (
            "==> x (9 s)\nx y did not become healthy.\nx: slow\ny: z\n",
            "x y did not become healthy. x: slow y: z",
        ),
        ("\n", "it printed nothing"),
        ("y" * 999, "y" * 200 + "…"),
    ],
)
def test_the_reason_is_the_end_of_the_output(printed: str, reason: str) -> None:
    assert reason_in(printed) == reason


def test_a_taken_port_is_named_before_anything_is_opened(tmp_path: Path) -> None:
    opened = ClassState.new(tmp_path / "class", "x", {"CLASS_PORTS": "31000"})
    with socket.socket() as taken:
        with suppress(OSError):  # another program has it
            taken.bind(("127.0.0.1", 31280))
            taken.listen()
        with pytest.raises(PlanError, match="Port 31280 of copy 2 is taken"):
            check_room(opened, [opened.plan.copy(2)])
    assert not opened.folder.exists()
