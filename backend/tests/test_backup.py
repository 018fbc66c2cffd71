"""Backups: complete, of one moment, refused as a whole if anything is wrong with them."""

import gzip
import io
import json
import os
import sqlite3
import tarfile
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import astuple
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from forked import Forked
from running_backend import DRAWING, PASSWORD, Backend, Editor, ask, join
from upstage.backup import archive, restore, write
from upstage.backup.archive import ArchiveError
from upstage.mirror.control import Control
from upstage.mirror.copying import Term, read_term, write_term
from upstage.settings import Pair
from upstage.state.copies import CopyError
from upstage.state.data_lock import InUseError, unused
from upstage.state.database import FILE, MIGRATIONS, Database
from upstage.state.load_account import keep_load_account
from upstage.state.passwords import choose, matches
from upstage.state.records import Medium, new_stage


class Folders:
    """The folders of a server that does not run."""

    def __init__(self, folder: Path) -> None:
        self.data, self.media = folder / "data", folder / "media"
        for path in (self.data, self.media):
            path.mkdir(parents=True)

    def put(self, file: str, content: bytes) -> None:
        """Add a medium, as a server does: the file first."""
        path = self.media / file
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        with closing(Database(self.data)) as database:
            database.put_medium(Medium(file, "prop", "Hat", "ann", "2026-01-01", len(content)))

    def backup(self, account: Path | None = None) -> bytes:
        out = io.BytesIO()
        write.write_backup(self.data, self.media, account, out)
        return out.getvalue()

    def restore(self, backup: bytes, pair: Pair | None = None) -> list[Path]:
        _, replaced = restore.restore(self.data, self.media, pair, io.BytesIO(backup))
        return replaced

    def chat(self) -> list[str]:
        with closing(Database(self.data)) as database:
            return database.chat("demo")


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    """A stage with a chat line and two media, and all other files that a backup has."""
    folders = Folders(tmp_path / "first")
    with closing(Database(folders.data)) as database:
        database.add_stage(new_stage("demo", "Demo"))
        database.add_chat([("demo", "hello")])
    folders.put("hat.svg", b"hat")
    folders.put("audio/bell.mp3", b"bell")
    (folders.data / "admin-password").write_text("secret\n")
    (folders.data / "lessons.json").write_text("{}")
    return folders


@pytest.fixture
def other(tmp_path: Path) -> Folders:
    """Another machine, with data of its own."""
    other = Folders(tmp_path / "second")
    with closing(Database(other.data)) as database:
        database.add_stage(new_stage("demo", "Demo"))
        database.add_chat([("demo", "other")])
    other.put("cup.svg", b"cup")
    (other.data / "admin-password").write_text("other\n")
    return other


def content_of(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, but the locks, which are empty."""
    return {
        str(path.relative_to(folder)): os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
        for path in folder.rglob("*")
        if (path.is_symlink() or path.is_file()) and path.name not in (".serving", ".backup.lock")
    }


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
                database.add_chat([("demo", str(number))])
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
            "INSERT INTO stage VALUES (?, ?, ?, ?, ?, ?, ?)",
            (stage.id, stage.name, stage.splash, *astuple(stage.colours)),
        )
        database.add_chat([("old", "a line of the older release")])
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
            raise OSError("no more")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail_at_the_database)
    with pytest.raises(OSError, match="no more"):
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


# Hostile and damaged archives. Each is made of a good one.


class Parts:
    """A good archive, taken apart: its manifest, and its other members with their content."""

    def __init__(self, backup: bytes) -> None:
        with tarfile.open(fileobj=io.BytesIO(backup)) as tar:
            found = [(info, tar.extractfile(info)) for info in tar]
            [(_, manifest), *rest] = [(info, file.read()) for info, file in found if file]
        self.manifest: dict[str, Any] = json.loads(manifest)
        self.members = rest

    def find(self, name: str) -> tarfile.TarInfo:
        return next(info for info, _ in self.members if info.name == name)

    def add(self, name: str, content: bytes, listed: bool = True) -> tarfile.TarInfo:
        info = tarfile.TarInfo(name)
        info.size = len(content)
        self.members.append((info, content))
        if listed:
            self.manifest["members"][name] = {
                "size": len(content),
                "sha256": sha256(content).hexdigest(),
                "date": 0,
            }
        return info

    def replace(self, name: str, content: bytes) -> None:
        """Give a member another content, with the right size and sum."""
        self.members = [(info, old) for info, old in self.members if info.name != name]
        self.add(name, content)

    def pack(self) -> bytes:
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w:gz", compresslevel=1) as tar:
            text = json.dumps(self.manifest).encode()
            info = tarfile.TarInfo("manifest.json")
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text))
            for member, content in self.members:
                tar.addfile(member, io.BytesIO(content))
        return out.getvalue()


Change = Callable[[Parts], object]


def listed(name: str) -> Change:
    """A member with a name that the list has, too."""
    return lambda parts: parts.add(name, b"x")


def become(kind: bytes, link: str = "") -> Change:
    """The picture becomes something else than a file, in the list an empty one."""

    def change(parts: Parts) -> None:
        parts.replace("media/hat.svg", b"")
        info = parts.find("media/hat.svg")
        info.type, info.linkname = kind, link

    return change


def put(key: str, value: object) -> Change:
    return lambda parts: parts.manifest.update({key: value})


def put_member(**fields: object) -> Change:
    return lambda parts: parts.manifest["members"]["media/hat.svg"].update(fields)


def damaged_database(parts: Parts) -> None:
    content = bytearray(next(content for info, content in parts.members if info.name == f"data/{FILE}"))
    content[4096:8192] = b"\xa5" * 4096
    parts.replace(f"data/{FILE}", bytes(content))


def without(name: str) -> Change:
    def change(parts: Parts) -> None:
        parts.members = [(info, content) for info, content in parts.members if info.name != name]

    return change


def long_header(parts: Parts) -> None:
    """A header of tar that claims, and has, far more bytes than a name needs."""
    info = parts.find("media/hat.svg")
    info.pax_headers = {"comment": "x" * 5_000_000}


HOSTILE: dict[str, tuple[Change, str]] = {
    **{
        f"the name {name}": (listed(name), "is no name of a member")
        for name in (
            *("../evil", "/tmp/evil", "media/../../evil", "media/..", "media/.hidden", "media/.restore/x"),
            *(
                "media//evil",
                "media/",
                "media",
                "data/term",
                "data/../evil",
                "data/upstage.db-wal",
                "evil",
                "",
            ),
        )
    },
    "a name that is not listed": (lambda parts: parts.add("../evil", b"x", listed=False), "not in the list"),
    "a member that comes twice": (lambda parts: parts.add("media/hat.svg", b"hat"), "twice"),
    "a symbolic link": (become(tarfile.SYMTYPE, "/etc/passwd"), "not the plain file"),
    "a hard link": (become(tarfile.LNKTYPE, "data/upstage.db"), "not the plain file"),
    "a device": (become(tarfile.CHRTYPE), "not the plain file"),
    "a pipe": (become(tarfile.FIFOTYPE), "not the plain file"),
    "a folder": (become(tarfile.DIRTYPE), "not the plain file"),
    "a larger member": (put_member(size=2), "not the plain file"),
    "another content": (put_member(sha256="0" * 64), "its sum is not that of the list"),
    "a missing medium": (without("media/hat.svg"), "'media/hat.svg' is missing"),
    "a missing database": (lambda parts: parts.manifest["members"].pop(f"data/{FILE}"), "has no database"),
    "a huge member": (put_member(size=10**15), "has no room"),
    "a negative size": (put_member(size=-1), "invalid"),
    "a date beyond time": (put_member(date=10**30), "invalid"),
    "no number": (put_member(size="3"), "invalid"),
    "an unknown field": (put_member(mode=0o4755), "invalid"),
    "a list of nothing": (put("members", []), "invalid"),
    "a version with control characters": (put("version", "\x1b[2J"), "invalid"),
    "no time": (put("made", "yesterday"), "invalid"),
    "a long header": (long_header, "more data than its members may have"),
    "a damaged database": (damaged_database, "database in the backup is damaged"),
    "no database": (
        lambda parts: parts.replace(f"data/{FILE}", b"x" * 9000),
        "database in the backup is damaged",
    ),
    "a schema that is not the database's": (put("schema", 1), "has schema 2, not 1"),
    "a newer schema": (
        put("schema", len(MIGRATIONS) + 1),
        "made by a newer release, 1.0.0: .* Update this one",
    ),
    "a newer format": (put("format", 2), "format of another release: update this one first"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_archive_is_refused_and_changes_nothing(
    folders: Folders, other: Folders, tmp_path: Path, name: str
) -> None:
    change, message = HOSTILE[name]
    parts = Parts(folders.backup())
    change(parts)
    before = content_of(tmp_path)
    with pytest.raises(ArchiveError, match=message):
        other.restore(parts.pack())
    assert content_of(tmp_path) == before


def test_the_archive_that_the_hostile_ones_are_made_of_is_good(folders: Folders, other: Folders) -> None:
    other.restore(Parts(folders.backup()).pack())
    assert other.chat() == ["hello"]


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.6, 0.9, 0.97])
def test_a_truncated_archive_changes_nothing(
    folders: Folders, other: Folders, tmp_path: Path, share: float
) -> None:
    folders.put("noise.png", os.urandom(50_000))
    backup, before = folders.backup(), content_of(tmp_path)
    with pytest.raises(ArchiveError, match="this is no complete backup"):
        other.restore(backup[: int(len(backup) * share)])
    assert content_of(tmp_path) == before


@pytest.mark.parametrize("place", [0.1, 0.5, 0.9])
def test_a_flipped_bit_is_noticed(folders: Folders, other: Folders, tmp_path: Path, place: float) -> None:
    folders.put("noise.png", os.urandom(50_000))
    backup, before = bytearray(folders.backup()), content_of(tmp_path)
    backup[int(len(backup) * place)] ^= 0x10
    with pytest.raises(ArchiveError):
        other.restore(bytes(backup))
    assert content_of(tmp_path) == before


@pytest.mark.parametrize(
    "text",
    [b"hello " * 1000, gzip.compress(b"hello " * 1000), b"\0" * 20_000],
    ids=["text", "compressed text", "zeros"],
)
def test_another_file_is_no_backup(other: Folders, tmp_path: Path, text: bytes) -> None:
    before = content_of(tmp_path)
    with pytest.raises(ArchiveError, match="this is no"):
        other.restore(text)
    assert content_of(tmp_path) == before
