"""labs/stores: what the programs count, SQLite's own rules, and the files that its mistakes leave behind."""

import json
import os
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bench.clients import malformed, stores
from bench.clients.store.flat import Flat
from bench.clients.store.sqlite import Sqlite
from bench.experiment import load
from stack import REPO

STORES = {
    str(cell.key["store"]): cell.settings
    for cell in load(REPO / "labs" / "stores", "full").cells
    if cell.driver == "stores"
}


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """No busy machine makes a run a crash: these files are on a disk, and the lab's are in memory."""
    monkeypatch.setattr(stores, "WITHIN", 60.0)


def a_run(settings: Mapping[str, Any], threads: bool = False) -> stores.Outcome:
    return stores.run(settings, writers=3, threads=threads, errors=Counter())


# --- What is counted


def test_a_record_says_whether_it_is_whole() -> None:
    value = stores.record("2-7")
    assert len(value) == stores.BYTES
    assert stores.name_of(value) == "2-7"
    for broken in (value[:-1], value + value, value[1:], b"", value[:1000] + stores.record("2-8")[1000:]):
        assert stores.name_of(broken) == "damaged"


GOOD = [
    "added 0-0",
    "added 0-1",
    "taken 0-1",
    "taken 0-0",
    "begin 5.0",
    "end 7.5",
    "succeeded 4",
    "sound True",
]


@pytest.mark.parametrize(
    ("notes", "crashes", "wrong"),
    [
        (GOOD, 0, {}),
        ([*GOOD, "added 1-0", "added 1-1"], 0, {"lost": 2}),
        ([*GOOD, "taken 0-0", "taken 0-0"], 0, {"doubled": 2}),
        ([*GOOD, "added 1-0", "taken damaged"], 0, {"damaged": 1}),
        ([*GOOD, "error OperationalError: database is locked"], 0, {"errors": 1}),
        (GOOD, 2, {"crashes": 2}),
        ([*GOOD[:-1], "sound False"], 0, {"malformed": 1}),
        (GOOD[:-1], 0, {"malformed": 1}),
    ],
)
def test_a_run_is_complete_if_nothing_is_wrong(notes: list[str], crashes: int, wrong: dict[str, int]) -> None:
    found = stores.outcome(notes, crashes)
    assert found == stores.Outcome(operations=4, seconds=2.5, **wrong)
    assert found.complete == (not wrong)


def test_the_report_adds_up_and_gives_shares_and_rates() -> None:
    runs = [stores.Outcome(operations=30, seconds=0.5), stores.Outcome(lost=2, operations=10, seconds=0.3)]
    found = stores.report(runs)
    assert (found["completed_percent"], found["lost_records"]) == (50, 2)
    assert found["operations_per_second"] == pytest.approx(50)
    assert stores.report([stores.Outcome(crashes=3)])["operations_per_second"] == 0


def fail() -> None:
    raise OSError("no such\nluck")


def compute() -> None:
    while True:
        pass


FLAWS: dict[str, Callable[[], object]] = {
    "fails": fail,
    "crashes": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "hangs": lambda: time.sleep(60),
    "computes": compute,
}


class Broken(Flat):
    """A flat file whose third operation has a flaw."""

    def __init__(self, folder: Path, flaw: str) -> None:
        super().__init__(folder, locked=True)
        self.flaw, self.calls = flaw, 0

    def add(self, key: bytes, value: bytes) -> None:
        self.calls += 1
        now = self.flaw if self.calls == 3 else ""
        FLAWS.get(now, str)()
        if now != "loses":
            super().add(key, value[:-1] if now == "damages" else value)

    def take(self, key: bytes) -> bytes | None:
        value = super().take(key)
        if value and self.flaw == "doubles" and self.calls == 3:
            super().add(key, value)
        return value

    def sound(self) -> bool:
        return self.flaw != "is malformed"


@pytest.mark.parametrize(
    ("flaw", "counted", "times"),
    [
        ("loses", "lost", 3),
        ("doubles", "doubled", 3),
        ("damages", "damaged", 3),
        ("fails", "errors", 3),
        ("crashes", "crashes", 1),
        ("hangs", "crashes", 1),
        ("computes", "crashes", 1),
        ("is malformed", "malformed", 1),
    ],
)
def test_a_flaw_of_the_store_is_counted(
    flaw: str, counted: str, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three threads of one process meet it. What fills and drains the store is one thread, and meets none."""

    def open_stores(_: Any, folder: Path, workers: int) -> list[Flat]:
        broken = workers == 3 or flaw == "is malformed"
        return [Broken(folder, flaw) if broken else Flat(folder, locked=True) for _ in range(workers)]

    monkeypatch.setattr(stores, "open_stores", open_stores)
    if flaw == "hangs":
        monkeypatch.setattr(stores, "WITHIN", 1.0)
    begun = time.monotonic()
    found = a_run({}, threads=True)
    assert time.monotonic() - begun < 30, "a process in a loop is stopped by its CPU time"
    assert getattr(found, counted) == times
    if times == 3:
        assert found == stores.Outcome(**{counted: 3}, operations=found.operations, seconds=found.seconds), (
            "nothing else is wrong"
        )


# --- The stores whose libraries are in the standard library


@pytest.mark.parametrize("threads", [False, True], ids=["processes", "threads"])
@pytest.mark.parametrize("name", ["flat-locked", "rollback", "wal", "one-writer"])
def test_a_store_that_keeps_its_writers_apart_loses_nothing(name: str, threads: bool) -> None:
    found = a_run(STORES[name], threads)
    assert found == stores.Outcome(operations=3 * 2 * stores.ROUNDS, seconds=found.seconds)
    assert found.seconds > 0


def test_a_flat_file_without_a_lock_loses_what_was_added_while_it_was_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, other = Flat(tmp_path, locked=False), Flat(tmp_path, locked=False)
    reader.add(b"key", b"first")
    write = Path.write_bytes

    def late(file: Path, data: bytes) -> int:
        other.add(b"key", b"second")
        return write(file, data)

    monkeypatch.setattr(Path, "write_bytes", late)
    assert reader.take(b"key") == b"first"
    assert reader.take(b"key") is None
    assert reader.sound()
    reader.add(b"key", b"third\nhalf a line")
    assert not reader.sound()


def sqlite(folder: Path, name: str, wait: float) -> Sqlite:
    settings = STORES[name]
    return Sqlite(folder, settings["journal"], wait, settings["begin"])


@pytest.mark.parametrize("name", ["rollback", "wal"])
def test_without_a_busy_timeout_the_second_writer_fails_at_once(tmp_path: Path, name: str) -> None:
    first, second = sqlite(tmp_path, name, 0), sqlite(tmp_path, name, 0)
    with closing(first), closing(second):
        first._sql.execute("BEGIN IMMEDIATE")
        with pytest.raises(sqlite3.OperationalError, match="database is locked"):
            second.add(b"key", b"value")
        with pytest.raises(sqlite3.OperationalError, match="database is locked"):
            second.take(b"key")
        first._sql.execute("COMMIT")
        second.add(b"key", b"value")
        assert first.take(b"key") == b"value"
        assert first.take(b"key") is None
        assert first.sound()


def test_a_deferred_transaction_fails_in_spite_of_its_busy_timeout(tmp_path: Path) -> None:
    """Another writer comes between its read and its write; one that begins immediate keeps it out."""
    for begin, loser in (("wal-deferred", "reader"), ("wal", "other")):
        folder = tmp_path / begin
        folder.mkdir()
        reader, other = sqlite(folder, begin, 5), sqlite(folder, begin, 0)
        reader.add(b"key", b"value")
        failed: list[str] = []

        def between(statement: str, other: Sqlite = other, failed: list[str] = failed) -> None:
            if statement.startswith("DELETE"):
                try:
                    other.add(b"other key", b"value")
                except sqlite3.OperationalError:
                    failed.append("other")

        with closing(reader), closing(other):
            reader._sql.set_trace_callback(between)
            begun = time.monotonic()
            try:
                reader.take(b"key")
            except sqlite3.OperationalError:
                failed.append("reader")
            assert time.monotonic() - begun < 4, "waiting cannot help"
        assert failed == [loser]


# --- Malformed files


@pytest.mark.parametrize("mistake", malformed.MISTAKES)
def test_a_mistake_ruins_the_file_and_its_remedy_does_not(mistake: str) -> None:
    assert malformed.trial(mistake, remedy=False) in (
        "database disk image is malformed",
        "integrity_check finds errors",
    )
    assert malformed.trial(mistake, remedy=True) == "ok"


def test_the_lab_makes_every_mistake() -> None:
    cells = [cell for cell in load(REPO / "labs" / "stores", "full").cells if cell.driver == "malformed"]
    found = {(cell.settings["mistake"], cell.settings["remedy"]) for cell in cells}
    assert found == {(mistake, remedy) for mistake in malformed.MISTAKES for remedy in (False, True)}


# --- The drivers


@pytest.mark.parametrize(
    ("program", "settings", "expected"),
    [
        (
            stores,
            {**STORES["flat-locked"], "runs": 2, "writers": 2},
            {"completed_percent": 100.0, "errors": 0.0},
        ),
        (malformed, {"mistake": "copied", "remedy": True, "trials": 2}, {"malformed_files": 0}),
    ],
)
def test_a_program_prints_one_line_of_json(
    program: Any,
    settings: Mapping[str, Any],
    expected: Mapping[str, float],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.argv", ["program", json.dumps(settings)])
    program.main()
    [line] = capsys.readouterr().out.splitlines()
    assert expected.items() <= json.loads(line).items()
