"""labs/stores: what the programs count, SQLite's own rules, and the files that broken rules leave."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from labs.bench.clients import malformed, stores
from labs.bench.clients.store import Flat, Sqlite

# --- The counts


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


# --- The faults


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


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_without_a_busy_timeout_the_second_writer_fails_at_once(tmp_path: Path, journal: str) -> None:
    first, second = (Sqlite(tmp_path, journal, 0, "immediate") for _ in range(2))
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


# --- Malformed files


@pytest.mark.parametrize("mistake", malformed.MISTAKES)
def test_a_mistake_ruins_the_file_and_its_remedy_does_not(mistake: str) -> None:
    assert malformed.trial(mistake, remedy=False) in (
        "database disk image is malformed",
        "integrity_check finds errors",
    )
    assert malformed.trial(mistake, remedy=True) == "ok"
