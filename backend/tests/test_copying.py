"""The copy of one server's folders on the other: complete, atomic, and never older than what is there."""

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from backend.tests.backup_folders import Folders, content_of
from backend.tests.running_backend import Backend
from upstage.mirror.control import Report
from upstage.mirror.copying import Replica, Term, read_term, run_alone, write_term
from upstage.mirror.standby import STEADY, Standby
from upstage.settings import Pair, from_environment
from upstage.state import copies
from upstage.state.copies import CopyError, files
from upstage.state.database import FILE, Database
from upstage.state.records import new_stage


class Both:
    """The folders of both servers, as the mirror sees them: `there` is the backend."""

    def __init__(self, folder: Path) -> None:
        self.there, self.here = Folders(folder / "backend"), Folders(folder / "mirror")
        pair = Pair("mirror", self.there.data, self.there.media, folder / "control")
        self.replica = Replica(pair, self.here.data, self.here.media)
        write_term(self.there.data, Term(1, "backend"))
        with closing(Database(self.there.data)) as database:
            database.add_stage(new_stage("demo", "Demo"))

    def copy(self) -> Report:
        for _ in self.replica.copy():
            pass
        return self.replica.report


@pytest.fixture
def folders(tmp_path: Path) -> Both:
    return Both(tmp_path)


def test_a_copy_has_everything_and_keeps_dates(folders: Both) -> None:
    folders.there.put("hat.svg", b"hat")
    folders.there.put("audio/bell.mp3", b"bell")
    folders.there.say("hello")
    (folders.there.data / "admin-password").write_text("secret\n")
    (folders.there.data / "lessons.json").write_text("{}")
    (folders.there.data / "speech").mkdir()
    (folders.there.data / "speech" / "next-number").write_text("77\n")
    (folders.there.data / "speech" / "utter-3.mp3").write_bytes(b"hello")
    (folders.there.media / ".upload-x").write_bytes(b"half of it")
    os.utime(folders.there.media / "hat.svg", ns=(5, 1_234_567_890_123_456_789))
    report = folders.copy()
    assert (report.files, report.bytes, report.removed, report.total) == (2, 7, 0, 2)
    assert report.database == (folders.here.data / FILE).stat().st_size
    assert files(folders.here.media) == files(folders.there.media)
    assert (folders.here.media / "hat.svg").stat().st_mtime_ns == 1_234_567_890_123_456_789
    assert (folders.here.media / "hat.svg").stat().st_mode & 0o777 == 0o644  # nginx is another user
    assert folders.here.chat() == ["hello"]
    for private in (FILE, "admin-password"):
        assert (folders.here.data / private).stat().st_mode & 0o077 == 0
    copied = content_of(folders.here.data)
    assert copied.pop(FILE)
    small = {"admin-password": b"secret\n", "lessons.json": b"{}", "speech/next-number": b"77\n"}
    assert copied == small | {"term": b"1 backend\n"}


def test_the_next_copy_has_only_what_has_changed(folders: Both) -> None:
    for name in ("hat.svg", "cup.svg", "old.svg"):
        folders.there.put(name, name.encode())
    folders.copy()
    assert folders.copy() == Report(total=3)
    untouched = (folders.here.media / "cup.svg").stat()
    folders.there.put("hat.svg", b"another hat")
    (folders.there.media / "old.svg").unlink()
    with closing(Database(folders.there.data)) as database:
        database.remove_medium("old.svg")
    report = folders.copy()
    assert (report.files, report.bytes, report.removed, report.total) == (1, 11, 1, 2)
    assert report.database > 0
    assert files(folders.here.media) == files(folders.there.media)
    assert (folders.here.media / "cup.svg").stat().st_ino == untouched.st_ino
    folders.there.say("one line")
    assert folders.copy().database > 0
    assert folders.here.chat() == ["one line"]


def test_a_file_is_replaced_in_one_step(folders: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    folders.there.put("hat.svg", b"old")
    folders.copy()
    folders.there.put("hat.svg", b"newer")

    def fail_halfway(source: Path, target: Path) -> None:
        target.write_bytes(b"ne")
        raise OSError("no space left")

    monkeypatch.setattr(shutil, "copyfile", fail_halfway)
    with pytest.raises(CopyError, match="no space left"):
        folders.copy()
    assert (folders.here.media / "hat.svg").read_bytes() == b"old"
    assert [path.name for path in folders.here.media.iterdir()] == ["hat.svg"]


def test_an_empty_media_folder_empties_nothing(folders: Both) -> None:
    """Their media volume was lost; files that the database still names stay here."""
    folders.there.put("hat.svg", b"hat")
    (folders.there.media / "bench.swf").write_bytes(b"not in the database")
    folders.copy()
    shutil.rmtree(folders.there.media)
    with pytest.raises(CopyError, match="media"):
        folders.copy()
    folders.there.media.mkdir()
    assert folders.copy().removed == 1
    assert (folders.here.media / "hat.svg").read_bytes() == b"hat"


@pytest.mark.parametrize("damage", ["garbage", "page", "missing"])
def test_a_damaged_database_is_not_copied(folders: Both, damage: str) -> None:
    for number in range(200):
        folders.there.say(f"line {number} {'x' * 400}")
    folders.copy()
    folders.there.say("more")
    file = folders.there.data / FILE
    if damage == "missing":
        file.unlink()
    else:
        content = bytearray(file.read_bytes())
        start = 0 if damage == "garbage" else len(content) // 4096 // 2 * 4096
        content[start : start + 4096] = b"\xff" * 4096
        file.write_bytes(content)
    with pytest.raises(CopyError, match=r"data cannot be copied|is damaged"):
        folders.copy()
    assert folders.here.chat()[-1] == f"line 199 {'x' * 400}"
    assert not (folders.here.data / ".copy.db").exists()


def test_what_is_damaged_here_or_left_by_a_killed_copy_is_replaced(folders: Both) -> None:
    folders.there.say("hello")
    (folders.there.data / "admin-password").write_text("secret\n")
    (folders.here.media / "audio").mkdir()
    left = [folders.here.data / ".copy.db", folders.here.media / "audio" / ".copy-bell.mp3"]
    for path in (
        *left,
        folders.here.data / FILE,
        folders.here.data / f"{FILE}-wal",
        folders.here.data / "admin-password",
    ):
        path.write_bytes(b"\xff\xfe" * 1000)
    folders.replica = Replica(folders.replica._pair, folders.here.data, folders.here.media)
    assert not any(path.exists() for path in left)
    folders.copy()
    assert folders.here.chat() == ["hello"]
    assert (folders.here.data / "admin-password").read_text() == "secret\n"


def test_a_locked_database_is_given_up(folders: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    """After its time; a third look would end in StopIteration."""
    looks = iter([0.0, copies.DATABASE_TIME, copies.DATABASE_TIME + 1])
    monkeypatch.setattr(copies, "time", SimpleNamespace(monotonic=lambda: next(looks)))
    with closing(sqlite3.connect(folders.there.data / FILE, isolation_level=None)) as sql:
        sql.execute("PRAGMA locking_mode = EXCLUSIVE")
        sql.execute("BEGIN EXCLUSIVE")
        with pytest.raises(CopyError, match="locked for 3 seconds"):
            folders.copy()
    assert list(looks) == []


@pytest.mark.parametrize(
    ("here", "there", "behind"),
    [
        (Term(0, ""), Term(0, ""), False),  # the first start of all
        (Term(0, ""), Term(1, "backend"), True),  # the mirror's first copy
        (Term(1, "backend"), Term(1, "backend"), True),  # it goes on copying
        (Term(2, "mirror"), Term(1, "backend"), False),  # the mirror has taken over
        (Term(2, "mirror"), Term(2, "mirror"), False),  # the backend has its copy
        (Term(2, "mirror"), Term(3, "backend"), True),  # and has taken over again
        (Term(5, "mirror"), Term(0, ""), False),  # the backend's data were lost
        (Term(2, "mirror"), Term(2, "backend"), False),  # both without the other: each keeps its own
    ],
)
def test_only_newer_data_are_copied(folders: Both, here: Term, there: Term, behind: bool) -> None:
    for folder, term in ((folders.here.data, here), (folders.there.data, there)):
        (folder / "term").unlink(missing_ok=True)
        if term.number:
            write_term(folder, term)
    assert folders.replica.is_behind() == behind
    folders.replica.new_term()
    assert read_term(folders.here.data) == (max(here.number, there.number) + 1, "mirror")
    assert not folders.replica.is_behind()


def test_a_server_without_a_mirror_counts_as_newer_only_if_it_had_one(tmp_path: Path) -> None:
    run_alone(tmp_path)
    assert list(tmp_path.iterdir()) == []
    write_term(tmp_path, Term(4, "mirror"))
    run_alone(tmp_path)
    assert read_term(tmp_path) == Term(5, "backend")
    (tmp_path / "term").write_text("nonsense")
    assert read_term(tmp_path) == Term(0, "")


def test_a_server_without_its_mirror_has_the_newer_data_afterwards(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    write_term(tmp_path / "data", Term(4, "mirror"))
    Backend(tmp_path).end()
    assert read_term(tmp_path / "data") == Term(5, "backend")


def standby_of(folders: Both) -> Standby:
    here = {"ROLE": "mirror", "DATA": folders.here.data, "MEDIA": folders.here.media}
    there = {"PEER_DATA": folders.there.data, "PEER_MEDIA": folders.there.media}
    settings = here | there | {"SOCKETS": folders.here.data / "upstage"}
    return Standby(from_environment({f"UPSTAGE_{name}": str(value) for name, value in settings.items()}))


@pytest.mark.parametrize("lost", [False, True])
def test_a_takeover_without_the_other_servers_data_is_not_complete(folders: Both, lost: bool) -> None:
    """The last changes may be missing, so the cache must not keep its copies."""
    folders.copy()
    if lost:
        shutil.rmtree(folders.there.data)
    standby = standby_of(folders)
    assert standby.wait() is not lost
    assert standby.control.failures("mirror") == 1  # until it has lasted
    standby.control.active.release()
    assert read_term(folders.here.data) == Term(2, "mirror")


def test_a_mirror_without_a_copy_serves_nothing(folders: Both) -> None:
    standby = standby_of(folders)
    assert not any(standby._is_my_turn() for _ in range(20))
    folders.copy()
    assert standby._is_my_turn()


def test_after_failures_a_server_is_ready_later(folders: Both) -> None:
    standby = standby_of(folders)
    standby._complete, standby._steady = True, STEADY
    assert standby._is_ready()
    standby.control.count_failure("mirror")
    assert not standby._is_ready()
    standby._steady = 2 * STEADY
    assert standby._is_ready()
