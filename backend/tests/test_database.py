"""The database: writes persist, rejected changes change nothing, other processes' changes are noticed."""

import sqlite3
import time
from dataclasses import astuple, replace
from pathlib import Path

import pytest

from upstage.stage.kept import Line
from upstage.stage.stage import CHAT_KEPT, Colours
from upstage.state.database import FILE, LOCK_TIME, Database
from upstage.state.records import Account, Locked, Medium, NoRoom, RecordError, StageRecord, Thing, new_stage
from upstage.state.schema import MIGRATIONS, statements

COLOURS = Colours("0x112233", "0x445566", "0x778899", "0xAABBCC")
STAGE = StageRecord("demo", "Demo", "Hello", COLOURS)
HAT = Medium("hat.svg", "prop", "Hat", "ann", "2026-01-01", 10)
PROP = Thing("prop", 0, "Hat", "hat.svg")


def test_data_persist_when_the_file_is_reopened(database: Database, tmp_path: Path) -> None:
    ann = Account("Ann", "$argon2id$x", frozenset({"act", "su"}))
    bell = Medium("audio/bell.mp3", "audio", "Bell", "ann", "2026-01-01", 10)
    fox = Medium("fox.svg", "avatar", "Fox", "ann", "2026-01-01", 10)
    things = (
        Thing("audio", 1, "Ding", "audio/bell.mp3", type="music"),
        Thing("avatar", 1, "Mr Fox", "fox.svg", "en-scottish", 10.5, 20.0),
    )
    database.add_player(ann)
    for medium in (bell, fox):
        database.put_medium(medium)
    database.add_stage(replace(STAGE, things=things))
    database.keep([("demo", Line(" one")), ("nowhere", Line("lost")), ("demo", Line("<Ann> two"))])
    again = Database(tmp_path)
    snapshot = again.snapshot()
    assert snapshot.accounts == {"Ann": ann}
    assert snapshot.media == {"audio/bell.mp3": bell, "fox.svg": fox}
    assert snapshot.stages == {"demo": replace(STAGE, things=things)}
    assert again.kept("demo").chat == [" one", "<Ann> two"]


def test_thing_ids_are_counted_for_each_kind_and_not_reused(database: Database) -> None:
    database.add_stage(STAGE)
    database.put_medium(HAT)
    for _ in range(3):
        database.put_thing("demo", PROP)
    database.take_thing("demo", "prop", 2)
    database.put_thing("demo", PROP)
    database.put_thing("demo", replace(PROP, id=1, name="Cap"))
    assert [(thing.id, thing.name) for thing in database.snapshot().stages["demo"].things] == [
        (1, "Cap"),
        (3, "Hat"),
        (4, "Hat"),
    ]


def test_replaced_media_stay_on_stages_and_removed_ones_do_not(database: Database) -> None:
    database.add_stage(STAGE)
    database.put_medium(HAT)
    database.put_thing("demo", PROP)
    database.put_medium(replace(HAT, date="2026-02-02", size=20))
    snapshot = database.snapshot()
    assert (snapshot.media["hat.svg"].size, len(snapshot.stages["demo"].things)) == (20, 1)
    database.remove_medium("hat.svg")
    snapshot = database.snapshot()
    assert (snapshot.media, snapshot.stages) == ({}, {"demo": STAGE})


def test_invalid_changes_are_reported_and_change_nothing(database: Database) -> None:
    database.add_stage(STAGE)
    database.add_player(Account("Ann", "x", frozenset()))
    before = database.snapshot()
    for work, message in (
        (lambda: database.add_stage(replace(STAGE, id="DEMO")), "There is already a stage DEMO"),
        (lambda: database.add_player(Account("ann", "y", frozenset())), "There is already a player ann"),
        (lambda: database.add_stage(replace(STAGE, id="x", things=(PROP,))), "hat.svg has been removed"),
        (lambda: database.put_thing("demo", PROP), "hat.svg has been removed"),
        (lambda: database.put_thing("nowhere", PROP), "has been removed"),
        (lambda: database.take_thing("demo", "prop", 1), "There is no prop 1"),
        (lambda: database.save_stage(replace(STAGE, id="x")), "There is no stage x"),
        (lambda: database.remove_stage("x"), "There is no stage x"),
        (lambda: database.set_password("bob", "x"), "There is no player bob"),
        (lambda: database.set_rights("Ann", ["fly"]), "Unknown right: fly"),
        (lambda: database.remove_player("bob"), "There is no player bob"),
        (lambda: database.remove_medium("x.png"), "There is no file x.png"),
    ):
        with pytest.raises(RecordError, match=message):
            work()
        assert database.snapshot() == before


def test_chat_is_bounded_for_each_stage(database: Database) -> None:
    database.add_stage(STAGE)
    database.add_stage(replace(STAGE, id="quiet"))
    database.keep([("quiet", Line("first"))])
    for start in range(0, 3000, 500):
        database.keep([("demo", Line(str(number))) for number in range(start, start + 500)])
    assert database.kept("demo").chat == [str(number) for number in range(3000 - CHAT_KEPT, 3000)]
    assert database.kept("quiet").chat == ["first"]
    [count] = database._sql.execute("SELECT count(*) FROM chat").fetchone()
    assert count == CHAT_KEPT + 1
    database.remove_stage("demo")
    assert database.kept("demo").chat == []


def test_only_changes_by_other_processes_are_noticed(database: Database, tmp_path: Path) -> None:
    other = Database(tmp_path)
    database.add_stage(STAGE)
    assert not database.changed_by_others()
    other.remove_stage("demo")
    assert database.changed_by_others()
    assert not database.changed_by_others()


def test_a_reset_removes_the_chat_of_its_stage_and_is_counted(database: Database) -> None:
    for id in ("demo", "Other"):
        database.add_stage(replace(STAGE, id=id, listed=False))
    database.keep([("demo", Line(" one")), ("Other", Line(" two"))])
    database.reset_stage("DEMO")
    stages = database.snapshot().stages
    assert (stages["demo"].resets, stages["Other"].resets) == (1, 0)
    assert not stages["demo"].listed
    assert (database.kept("demo").chat, database.kept("Other").chat) == ([], [" two"])
    with pytest.raises(RecordError, match=r"There is no stage nowhere\."):
        database.reset_stage("nowhere")


def test_stages_of_the_first_release_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("upstage.state.database.MIGRATIONS", MIGRATIONS[:1])
    old = Database(tmp_path)
    old._sql.execute("INSERT INTO stage VALUES ('demo', 'Demo', 'Hello', ?, ?, ?, ?)", astuple(COLOURS))
    old.close()
    monkeypatch.setattr("upstage.state.database.MIGRATIONS", MIGRATIONS)
    assert Database(tmp_path).snapshot().stages == {"demo": STAGE}


def test_a_failed_migration_leaves_the_file_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Database(tmp_path).add_stage(STAGE)
    broken = (*MIGRATIONS, "ALTER TABLE stage ADD COLUMN mood TEXT;\nDROP TABLE nowhere;\n")
    monkeypatch.setattr("upstage.state.database.MIGRATIONS", broken)
    with pytest.raises(sqlite3.OperationalError):
        Database(tmp_path)
    right = (*MIGRATIONS, "ALTER TABLE stage ADD COLUMN mood TEXT;\n")
    monkeypatch.setattr("upstage.state.database.MIGRATIONS", right)
    database = Database(tmp_path)
    assert database._sql.execute("SELECT id, mood FROM stage").fetchall() == [("demo", None)]
    monkeypatch.setattr("upstage.state.database.MIGRATIONS", MIGRATIONS)
    with pytest.raises(RecordError, match="written by a newer release"):
        Database(tmp_path)


def test_scripts_are_split_at_the_ends_of_statements() -> None:
    assert list(statements("A;\nB (  -- not; here\n';'\n);\n\n")) == ["A;\n", "B (  -- not; here\n';'\n);\n"]


def test_a_change_while_another_program_has_the_lock_is_refused(database: Database, tmp_path: Path) -> None:
    database.add_stage(STAGE)
    other = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    for wait in (0.1, 0):
        began = time.monotonic()
        with pytest.raises(Locked, match=f"locked for {wait} s"):
            database.keep([("demo", Line("one"))], wait)
        assert wait <= time.monotonic() - began < LOCK_TIME
    other.execute("ROLLBACK")
    assert database.kept("demo").chat == []
    database.keep([("demo", Line("one"))], 0)
    assert database.kept("demo").chat == ["one"]


def test_every_kind_of_busy_is_a_lock(database: Database) -> None:
    busy = sqlite3.OperationalError("database is locked")
    busy.sqlite_errorcode = sqlite3.SQLITE_BUSY_RECOVERY
    with pytest.raises(Locked), database._writing():
        raise busy


def test_a_full_database_changes_nothing(tmp_path: Path) -> None:
    database = Database(tmp_path)
    [pages] = database._sql.execute("PRAGMA page_count").fetchone()
    database._sql.execute(f"PRAGMA max_page_count = {pages}")

    def fill() -> None:
        for number in range(100):
            database.add_stage(new_stage(f"s{number}", "x" * 100))

    with pytest.raises(NoRoom):
        fill()
    stages = database.snapshot().stages
    assert stages.keys() == {f"s{number}" for number in range(len(stages))}
    database._sql.execute("PRAGMA max_page_count = 100000")
    database.add_stage(new_stage("new", "New"))
    database.close()
