"""Backups: complete, of one moment, and restored as a whole."""

import gzip
import os
import sqlite3
import threading
from contextlib import closing
from dataclasses import astuple
from pathlib import Path

import pytest

from backup_folders import Folders, content_of
from forked import Forked
from running_backend import DRAWING, PASSWORD, Backend, Editor, ask, join
from upstage.backup import archive, restore, write
from upstage.mirror.control import Control
from upstage.mirror.copying import Term, read_term, write_term
from upstage.settings import Pair
from upstage.stage.kept import Line
from upstage.state.copies import CopyError
from upstage.state.data_lock import InUseError, unused
from upstage.state.database import FILE, Database
from upstage.state.load_account import keep_load_account
from upstage.state.passwords import choose, matches
from upstage.state.records import Medium, new_stage
from upstage.state.schema import MIGRATIONS


def test_a_restored_server_has_everything_and_the_replaced_data_are_kept(
    folders: Folders, other: Folders
) -> None:
    os.utime(folders.media / "hat.svg", ns=(5, 1_234_567_890_123_456_789))
    (folders.media / ".upload-x").write_bytes(b"half of it")
    (folders.data / "speech").mkdir()
    (folders.data / "speech" / "utter-3.mp3").write_bytes(b"hello")
    before = content_of(other.data), content_of(other.media)
    data, media = other.restore(folders.backup())
    assert other.chat() == ["hello"]
    assert content_of(other.media / "audio") == {"bell.mp3": b"bell"}
    assert {path.name for path in other.media.iterdir()} == {"hat.svg", "audio", media.name}
    assert (other.media / "hat.svg").read_bytes() == b"hat"
    assert (other.media / "hat.svg").stat().st_mtime_ns == 1_234_567_890_123_456_789
    assert (other.media / "hat.svg").stat().st_mode & 0o777 == 0o644  # nginx is another user
    assert (other.data / "admin-password").read_text() == "secret\n"
    assert (other.data / "lessons.json").read_text() == "{}"
    for private in (FILE, "admin-password", data.name):
        assert (other.data / private).stat().st_mode & 0o077 == 0
    assert not (other.data / "speech").exists()
    assert data.parent == other.data
    assert media.parent == other.media
    assert media.name.startswith(".replaced-")  # a name that is never served
    assert (content_of(data), content_of(media)) == before


def test_what_a_backup_does_not_have_stays(folders: Folders, other: Folders) -> None:
    """There is no generated password where a setting has one."""
    (folders.data / "admin-password").unlink()
    other.restore(folders.backup())
    assert (other.data / "admin-password").read_text() == "other\n"


def test_every_file_of_a_server_is_in_a_backup_or_known_not_to_be(tmp_path: Path) -> None:
    backend = Backend(tmp_path)
    try:
        made = {str(path.relative_to(backend.data)) for path in backend.data.rglob("*") if path.is_file()}
        left_out = {".serving", f"{FILE}-wal", f"{FILE}-shm"}
        assert made - left_out <= {name.removeprefix("data/") for name in archive.DATA}
    finally:
        backend.end()


def test_a_backup_is_of_one_moment_while_a_writer_writes(folders: Folders, tmp_path: Path) -> None:
    """Each line of the chat comes with its medium, which the writer removes again a little later."""
    stop, written = threading.Event(), threading.Event()

    def write_on() -> None:
        with closing(Database(folders.data)) as database:
            number = 0
            while not stop.is_set():
                path = folders.media / f"{number}.svg"
                path.write_bytes(b"x")
                database.put_medium(Medium(path.name, "prop", "Hat", "ann", "2026-01-01", 1))
                database.keep([("demo", Line(str(number)))])
                if number >= 20:
                    database.remove_medium(f"{number - 20}.svg")
                    (folders.media / f"{number - 20}.svg").unlink()
                    written.set()
                number += 1

    writer = threading.Thread(target=write_on)
    writer.start()
    try:
        assert written.wait(20)
        backups = [folders.backup() for _ in range(5)]
    finally:
        stop.set()
        writer.join()
    for number, backup in enumerate(backups):
        copy = Folders(tmp_path / f"copy-{number}")
        copy.restore(backup)
        [hello, *numbers] = copy.chat()
        assert hello == "hello"
        assert numbers == [str(number) for number in range(len(numbers))]
        with closing(Database(copy.data)) as database:
            assert all((copy.media / file).exists() for file in database.snapshot().media)
    assert int(numbers[-1]) > 20


def test_media_that_come_or_go_during_a_backup_are_in_it(
    folders: Folders, other: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database of the backup names both, and the new content of the third."""
    copy = write.copy_database

    def change_and_copy(file: Path, target: Path) -> None:
        folders.put("new.svg", b"new")
        (folders.media / "hat.new").write_bytes(b"another hat")
        (folders.media / "hat.new").replace(folders.media / "hat.svg")
        copy(file, target)
        (folders.media / "audio" / "bell.mp3").unlink()

    monkeypatch.setattr(write, "copy_database", change_and_copy)
    other.restore(folders.backup())
    assert (other.media / "new.svg").read_bytes() == b"new"
    assert (other.media / "hat.svg").read_bytes() == b"another hat"
    assert (other.media / "audio" / "bell.mp3").read_bytes() == b"bell"


def test_a_backup_leaves_nothing_behind(folders: Folders) -> None:
    before = content_of(folders.data), content_of(folders.media)
    for folder in (folders.data, folders.media):  # of a killed backup
        (folder / ".backup").mkdir()
        (folder / ".backup" / "left.svg").touch()
    assert b"left.svg" not in gzip.decompress(folders.backup())
    assert (content_of(folders.data), content_of(folders.media)) == before


def test_a_damaged_database_is_not_backed_up(folders: Folders) -> None:
    with (folders.data / FILE).open("r+b") as file:
        file.seek(4096)
        file.write(b"\xa5" * 3000)
    with pytest.raises((CopyError, sqlite3.DatabaseError), match=r"damaged|malformed"):
        folders.backup()


def load_password_of(folders: Folders) -> str | None:
    """The hash of the password of the account `load`; None if there is no such account."""
    with closing(Database(folders.data)) as database:
        account = database.snapshot().accounts.get("load")
    return account.password if account else None


def test_the_load_tests_account_is_made_anew_on_another_machine(
    folders: Folders, other: Folders, tmp_path: Path
) -> None:
    """The programs of each machine know the password of that machine."""
    here, there = tmp_path / "here", tmp_path / "there"
    there.write_text("load:a password of the other machine\n")
    with closing(Database(folders.data)) as database:
        keep_load_account(database, here)
    other.restore(folders.backup(here))
    assert load_password_of(other) is None
    with closing(Database(other.data)) as database:
        keep_load_account(database, there)
    assert there.exists()
    assert matches(load_password_of(other) or "", "a password of the other machine")
    assert load_password_of(folders) is not None


def test_a_load_tests_account_of_the_users_own_is_in_the_backup(
    folders: Folders, other: Folders, tmp_path: Path
) -> None:
    account = tmp_path / "account"
    with closing(Database(folders.data)) as database:
        keep_load_account(database, account)
        database.set_password("load", choose("a password of their own"))
    other.restore(folders.backup(account))
    assert matches(load_password_of(other) or "", "a password of their own")


def test_a_backup_of_an_older_schema_is_upgraded_by_the_server(
    folders: Folders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = Folders(tmp_path / "old")
    monkeypatch.setattr("upstage.state.database.MIGRATIONS", MIGRATIONS[:-1])
    with closing(Database(old.data)) as database:
        stage = new_stage("old", "Old")
        database._sql.execute(
            "INSERT INTO stage VALUES (?, ?, ?, ?, ?, ?, ?, 1, 0)",
            (stage.id, stage.name, stage.splash, *astuple(stage.colours)),
        )
        database.keep([("old", Line("a line of the older release"))])
    monkeypatch.setattr("upstage.state.database.MIGRATIONS", MIGRATIONS)
    backup = old.backup()
    folders.restore(backup)
    assert write.schema_of(folders.data / FILE) == len(MIGRATIONS) - 1
    backend = Backend(folders.data.parent)
    assert b"a line of the older release" in ask(backend, "/stages/old/log").body
    assert b"Old" in ask(backend, "/stages/").body
    backend.end()
    assert write.schema_of(folders.data / FILE) == len(MIGRATIONS)


def test_a_server_is_backed_up_while_it_runs_and_restored_when_it_does_not(tmp_path: Path) -> None:
    """With the command itself: chat, an uploaded picture, a player, and the generated password."""
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    backend = Backend(tmp_path / "first")
    password = (backend.data / "admin-password").read_text().strip()
    editor = Editor(backend, password=password)
    picture = editor.bring("Hat")
    fields = {"action": "add", "name": "mia", "password": PASSWORD, "act": "yes"}
    assert editor.post("/admin/workshop/players", **fields).status == 302
    client = backend.connect()
    join(client)
    client.send_frames(b"msg=ahoy&mode=TEXT")
    client.frames_until(b"mode=ANONTEXT")
    backup = tmp_path / "backup"
    assert command(backend, backup, "backup") == (0, "")
    client.send_frames(b"msg=later&mode=TEXT")
    client.frames_until(b"mode=ANONTEXT")

    said = tmp_path / "said"
    assert command(backend, said, "restore", "--check", stdin=backup) == (0, "")
    assert "release 1.0.0: the database (" in said.read_text()
    assert said.read_text().endswith("kB), admin-password\n")
    status, errors = command(backend, said, "restore", stdin=backup)
    assert (status, said.read_text()) == (1, "")
    assert errors == f"upstage: nothing was restored: a server uses {backend.data}: stop it first\n"
    backend.end()

    second = Backend(tmp_path / "second")
    second.end()
    status, errors = command(second, said, "restore", stdin=backup)
    assert (status, errors) == (0, "")
    restored, replaced = said.read_text().splitlines()
    assert restored.startswith("restored: the data of 20")
    assert replaced.startswith(f"replaced data: {second.data}/replaced-20")
    second = Backend(tmp_path / "second")
    log = ask(second, "/stages/demo/log").body
    assert b"ahoy" in log
    assert b"later" not in log
    assert ask(second, f"/media/{picture}").body == DRAWING % b"Hat"
    Editor(second, "mia", PASSWORD)
    Editor(second, password=password)
    second.end()


def command(backend: Backend, out: Path, *words: str, stdin: Path | str = os.devnull) -> tuple[int, str]:
    """Run `upstage WORDS` with the server's settings; return its status and errors."""
    errors = backend.folder / "errors"
    status = Forked(["-m", "upstage", *words], backend.env, out, errors, stdin).wait(30)
    return status, errors.read_text()


def test_nothing_is_restored_while_a_server_uses_the_folder(folders: Folders, other: Folders) -> None:
    backup, before = folders.backup(), content_of(other.data)
    with unused(other.data), pytest.raises(InUseError, match="stop it first"):
        other.restore(backup)
    assert content_of(other.data) == before


def test_a_restore_that_fails_moves_everything_back(
    folders: Folders, other: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    backup = folders.backup()
    before = content_of(other.data), content_of(other.media)
    rename = Path.rename

    def fail_at_the_database(self: Path, target: Path) -> Path:
        if target == other.data / FILE and self.parent.name == ".restore":
            raise OSError("the disk is gone")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail_at_the_database)
    with pytest.raises(OSError, match="the disk is gone"):
        other.restore(backup)
    assert (content_of(other.data), content_of(other.media)) == before


def test_two_restores_within_a_second_overwrite_nothing(
    folders: Folders, other: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restore, "dated_name", lambda: "replaced-now")
    backup = folders.backup()
    replaced = other.restore(backup)
    before = content_of(other.data), content_of(other.media)
    assert len(replaced) == 2
    with pytest.raises(FileExistsError, match="try again"):
        other.restore(backup)
    assert (content_of(other.data), content_of(other.media)) == before


def test_of_two_servers_the_restored_one_has_the_newer_data(
    folders: Folders, other: Folders, tmp_path: Path
) -> None:
    peer = tmp_path / "peer"
    peer.mkdir()
    write_term(peer, Term(7, "mirror"))
    write_term(other.data, Term(6, "backend"))
    other.restore(folders.backup(), Pair("backend", peer, peer, tmp_path / "control"))
    assert read_term(other.data) == Term(8, "backend")


def test_two_servers_are_backed_up_on_the_active_one_and_restored_when_none_is(tmp_path: Path) -> None:
    backend = Backend(tmp_path)
    backend.end()
    backup, said = tmp_path / "backup", tmp_path / "said"
    assert command(backend, backup, "backup") == (0, "")
    control = Control(tmp_path / "s.mirror")
    assert control.active.take("mirror serving")
    backend.env |= {
        "UPSTAGE_ROLE": "backend",
        "UPSTAGE_PEER_DATA": str(tmp_path / "peer"),
        "UPSTAGE_PEER_MEDIA": str(tmp_path / "peer"),
        "UPSTAGE_SOCKETS": str(tmp_path / "s"),
    }
    status, errors = command(backend, said, "backup")
    assert (status, errors) == (1, "upstage: backend is the standby: run this command on mirror\n")
    assert said.read_bytes() == b""
    status, errors = command(backend, said, "restore", stdin=backup)
    assert (status, errors) == (
        1,
        "upstage: nothing was restored: mirror is active; stop both servers first\n",
    )
    control.active.release()
    assert command(backend, said, "restore", stdin=backup) == (0, "")
    assert read_term(backend.data) == Term(1, "backend")
