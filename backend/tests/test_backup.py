"""Backups: complete, of one moment, and restored as a whole."""

import gzip
import io
import os
import re
import shutil
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from backend.tests.backup_folders import Folders, content_of
from backend.tests.running_backend import Backend, ask
from upstage.backup import archive, restore, write
from upstage.net.purge import TOLD
from upstage.stage.kept import Line
from upstage.state.copies import files
from upstage.state.data_lock import InUseError, unused
from upstage.state.database import FILE, Database
from upstage.state.load_account import keep_load_account
from upstage.state.passwords import choose, matches
from upstage.state.records import Account, Session
from upstage.state.schema import MIGRATIONS


def test_a_restored_server_has_all_and_the_replaced_data_are_kept(folders: Folders, other: Folders) -> None:
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


def test_after_a_restore_nobody_is_signed_in(folders: Folders, other: Folders) -> None:
    """A session that has ended since the backup must not be valid again."""
    session = Session("0" * 64, Account("ann", "hash", frozenset()), 1e12)
    with closing(Database(folders.data)) as database:
        database.change_sessions([session], [])
    other.restore(folders.backup())
    with closing(Database(other.data)) as database:
        assert database.sessions() == []


def test_what_a_backup_does_not_have_stays(folders: Folders, other: Folders) -> None:
    """A server whose password is a setting has no generated one."""
    (folders.data / "admin-password").unlink()
    other.restore(folders.backup())
    assert (other.data / "admin-password").read_text() == "other\n"


def test_every_file_of_a_server_is_in_a_backup_or_known_not_to_be(tmp_path: Path) -> None:
    backend = Backend(tmp_path)
    made = {str(path.relative_to(backend.data)) for path in backend.data.rglob("*") if path.is_file()}
    backend.end()
    left_out = {".serving", f"{FILE}-wal", f"{FILE}-shm", TOLD}
    assert made - left_out <= {name.removeprefix("data/") for name in archive.DATA}


def test_a_backup_is_of_one_moment_while_a_writer_writes(
    folders: Folders, other: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It contains each medium that its database names, even if removed a little later, and no removed one."""
    copy = write.copy_database

    def change_and_copy(file: Path, target: Path) -> None:
        folders.put("new.svg", b"new")
        (folders.media / "hat.new").write_bytes(b"another hat")
        (folders.media / "hat.new").replace(folders.media / "hat.svg")
        database.keep([("demo", Line("before"))])
        copy(file, target)
        database.keep([("demo", Line("after"))])
        (folders.media / "audio" / "bell.mp3").unlink()

    def files_with_one_that_goes(folder: Path) -> dict[str, tuple[int, int]]:
        return files(folder) | ({"gone.svg": (1, 1)} if folder == folders.media else {})

    monkeypatch.setattr(write, "copy_database", change_and_copy)
    monkeypatch.setattr(write, "files", files_with_one_that_goes)
    with closing(Database(folders.data)) as database:  # the newest lines are in a WAL
        other.restore(folders.backup())
    assert other.chat() == ["hello", "before"]
    assert (other.media / "new.svg").read_bytes() == b"new"
    assert (other.media / "hat.svg").read_bytes() == b"another hat"
    assert (other.media / "audio" / "bell.mp3").read_bytes() == b"bell"


def test_a_backup_leaves_nothing_behind(folders: Folders) -> None:
    before = content_of(folders.data), content_of(folders.media)
    for folder in (folders.data, folders.media):  # left by a killed backup
        (folder / ".backup").mkdir()
        (folder / ".backup" / "left.svg").touch()
    assert b"left.svg" not in gzip.decompress(folders.backup())
    assert (content_of(folders.data), content_of(folders.media)) == before


def load_password_of(folders: Folders) -> str | None:
    """Return the hash of the password of the account `load`; None if there is no such account."""
    with closing(Database(folders.data)) as database:
        account = database.snapshot().accounts.get("load")
    return account.password if account else None


def test_another_machine_makes_its_own_load_account(folders: Folders, other: Folders, tmp_path: Path) -> None:
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


def test_the_users_own_load_account_is_backed_up(folders: Folders, other: Folders, tmp_path: Path) -> None:
    account = tmp_path / "account"
    with closing(Database(folders.data)) as database:
        keep_load_account(database, account)
        database.set_password("load", choose("a password of their own"))
    other.restore(folders.backup(account))
    assert matches(load_password_of(other) or "", "a password of their own")


@pytest.mark.parametrize("schema", range(1, len(MIGRATIONS)))
def test_a_backup_of_an_older_schema_is_restored_as_it_is(
    folders: Folders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, schema: int
) -> None:
    """The server upgrades it when it starts."""
    old = Folders(tmp_path / "old")
    monkeypatch.setattr("upstage.state.database.MIGRATIONS", MIGRATIONS[:schema])
    Database(old.data).close()
    monkeypatch.undo()
    folders.restore(old.backup())
    assert write.schema_of(folders.data / FILE) == schema
    Database(folders.data).close()
    assert write.schema_of(folders.data / FILE) == len(MIGRATIONS)


def test_commands_back_up_a_running_server_and_restore_an_ended_one(folders: Folders, other: Folders) -> None:
    with unused(folders.data):  # as a server that runs
        status, backup, errors = folders.upstage("backup")
    assert (status, errors) == (0, "")
    status, said, _ = other.upstage("restore", "--check", archive=backup)
    assert status == 0
    assert re.search(rb"release 1.0.0: the database \(.*kB\), admin-password, .*lessons.json\n$", said), said
    with unused(other.data):
        refused = other.upstage("restore", archive=backup)
    problem = f"a server uses {other.data}: stop it first, as make restore does"
    assert refused == (1, b"", f"upstage: nothing was restored: {problem}\n")
    assert other.chat() == ["other"]
    status, said, errors = other.upstage("restore", archive=backup)
    assert (status, errors, other.chat()) == (0, "", ["hello"])
    restored, replaced = said.decode().splitlines()
    assert restored.startswith("restored: the data of 20")
    assert replaced.startswith(f"replaced data: {other.data}/replaced-20")


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


# Kills the process at the step with this number: before a file is moved, or before or after all moves.
KILLED = """
import os, sys
from pathlib import Path
from unittest import mock
from upstage import cli
left = [{step}]
def step(work):
    def work_or_die(*arguments):
        left[0] -= 1
        if left[0] < 0:
            os.kill(os.getpid(), 9)
        return work(*arguments)
    return work_or_die
with mock.patch.object(os, "sync", step(os.sync)), mock.patch.object(Path, "rename", step(Path.rename)):
    sys.exit(cli.main(["restore"]))
"""


def kill_a_restore(folders: Folders, backup: bytes, step: int) -> int:
    """Restore, and kill the process at that step; return the exit status."""
    return folders.run(["-c", KILLED.format(step=step)], backup)[0]


def test_a_restore_that_is_killed_loses_nothing(folders: Folders, other: Folders) -> None:
    """The earlier data are there again, at the latest with the next restore."""
    (other.data / f"{FILE}-wal").write_bytes(b"what the database does not have yet")
    backup = folders.backup()
    before = content_of(other.data), content_of(other.media)
    step = 0
    while (status := kill_a_restore(other, backup, step)) != 0:
        assert status == -9
        restore.check(other.data, other.media, io.BytesIO(backup))
        assert (content_of(other.data), content_of(other.media)) == before
        assert not restore.replaced(other.data, other.media)
        step += 1
    assert step > 8
    assert other.chat() == ["hello"]
    [data, media] = restore.replaced(other.data, other.media)
    assert (data / FILE).read_bytes() == before[0][FILE]
    assert content_of(media) == before[1]


def test_a_server_starts_on_what_there_was_before_a_killed_restore(folders: Folders) -> None:
    backup = folders.backup()
    folders.say("later")
    (folders.media / "hat.svg").write_bytes(b"a new hat")
    assert kill_a_restore(folders, backup, 3) == -9
    assert not (folders.media / "hat.svg").exists()
    backend = Backend(folders.data.parent)
    assert b"later" in ask(backend, "/stages/demo/log").body
    assert ask(backend, "/media/hat.svg").body == b"a new hat"
    assert backend.logged("a restore was interrupted: the data are those that were there before")
    backend.end()


def test_what_restores_have_replaced_is_named_where_the_disk_is_full(
    folders: Folders, other: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    backup = folders.backup()
    [data, _] = other.restore(backup)
    (data / "large").write_bytes(bytes(3_000_000))
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=1))
    with pytest.raises(
        archive.ArchiveError, match="has no room for 0 MB; make restore REMOVE=replaced frees 3 MB"
    ):
        other.restore(backup)


def test_all_that_restores_have_replaced_is_listed_and_removed(folders: Folders, other: Folders) -> None:
    earlier = [other.data / "replaced-20200101-100000", other.media / ".replaced-20200101-100000"]
    for folder in earlier:
        folder.mkdir()
        (folder / "file").write_bytes(b"x" * 20_000)
    status, said, _ = other.upstage("restore", archive=folders.backup())
    folders_now = restore.replaced(other.data, other.media)
    assert (status, len(folders_now)) == (0, 4)
    assert f"{earlier[0]} (20 kB), ".encode() in said
    assert all(f"{folder} ({size / 1000:.0f} kB)".encode() in said for folder, size in folders_now.items())
    with unused(other.data):  # a server may run
        status, said, _ = other.upstage("restore", "--remove-replaced")
    assert status == 0
    assert all(str(folder).encode() in said and not folder.exists() for folder in folders_now)
    assert other.chat() == ["hello"]
    nothing = other.upstage("restore", "--remove-replaced")
    assert nothing == (1, b"", "upstage: there is nothing that a restore has replaced\n")


def test_no_running_server_is_restored(folders: Folders, other: Folders) -> None:
    backup, before = folders.backup(), content_of(other.data)
    with unused(other.data), pytest.raises(InUseError, match=f"a server uses {other.data}: stop it first"):
        other.restore(backup)
    assert content_of(other.data) == before


def test_a_move_to_the_mirror_signs_nobody_out(folders: Folders, other: Folders) -> None:
    session = Session("0" * 64, Account("ann", "hash", frozenset()), 1e12)
    with closing(Database(folders.data)) as database:
        database.change_sessions([session], [])
    assert other.upstage("restore", "--move", archive=folders.backup())[0] == 0
    with closing(Database(other.data)) as database:
        assert database.sessions() == [session]
