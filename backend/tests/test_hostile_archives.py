"""Archives that are damaged, or made to do harm: each is refused as a whole, and nothing is changed."""

import gzip
import io
import json
import os
import tarfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from backend.tests.backup_folders import Folders, content_of
from upstage.backup.archive import ArchiveError
from upstage.state.database import FILE
from upstage.state.schema import MIGRATIONS


class Parts:
    """A good archive, taken apart: its manifest, and its other members with their content."""

    def __init__(self, backup: bytes) -> None:
        with tarfile.open(fileobj=io.BytesIO(backup)) as tar:
            [(_, manifest), *self.members] = [(info, read(tar, info)) for info in tar]
        self.manifest: dict[str, Any] = json.loads(manifest)

    def find(self, name: str) -> tuple[tarfile.TarInfo, bytes]:
        return next(member for member in self.members if member[0].name == name)

    def add(self, name: str, content: bytes, listed: bool = True) -> None:
        info = tarfile.TarInfo(name)
        info.size = len(content)
        self.members.append((info, content))
        if listed:
            sum = sha256(content).hexdigest()
            self.manifest["members"][name] = {"size": len(content), "sha256": sum, "date": 0}

    def remove(self, name: str) -> None:
        self.members.remove(self.find(name))

    def replace(self, name: str, content: bytes) -> None:
        """Give a member another content, with the right size and sum."""
        self.remove(name)
        self.add(name, content)

    def pack(self) -> bytes:
        out = io.BytesIO()
        text = json.dumps(self.manifest).encode()
        first = tarfile.TarInfo("manifest.json")
        first.size = len(text)
        with tarfile.open(fileobj=out, mode="w:gz", compresslevel=1) as tar:
            for member, content in [(first, text), *self.members]:
                tar.addfile(member, io.BytesIO(content))
        return out.getvalue()


def read(tar: tarfile.TarFile, info: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(info)
    assert file
    return file.read()


Change = Callable[[Parts], object]


def listed(name: str) -> Change:
    """Return a change: add a second member with a name that is in the list."""
    return lambda parts: parts.add(name, b"x")


def become(kind: bytes, link: str = "") -> Change:
    """Return a change: the picture is no file, but the list describes it as an empty one."""

    def change(parts: Parts) -> None:
        parts.replace("media/hat.svg", b"")
        info, _ = parts.find("media/hat.svg")
        info.type, info.linkname = kind, link

    return change


def put(key: str, value: object) -> Change:
    return lambda parts: parts.manifest.update({key: value})


def put_member(**fields: object) -> Change:
    return lambda parts: parts.manifest["members"]["media/hat.svg"].update(fields)


def damaged_database(parts: Parts) -> None:
    content = bytearray(parts.find(f"data/{FILE}")[1])
    content[4096:8192] = b"\xa5" * 4096
    parts.replace(f"data/{FILE}", bytes(content))


def long_header(parts: Parts) -> None:
    """Give a member a tar header with far more bytes than a name needs."""
    info, _ = parts.find("media/hat.svg")
    info.pax_headers = {"comment": "x" * 5_000_000}


HOSTILE: dict[str, tuple[Change, str]] = {
    **{
        f"the name {name}": (listed(name), "is no name of a member")
        for name in (
            *("../evil", "/tmp/evil", "media/../../evil", "media/..", "media/.hidden", "media/.restore/x"),
            *("media//evil", "media/", "media", "data/term", "data/../evil", "data/upstage.db-wal", "evil"),
            "",
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
    "a missing medium": (lambda parts: parts.remove("media/hat.svg"), "'media/hat.svg' is missing"),
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
    "a schema that is not the database's": (put("schema", 1), f"has schema {len(MIGRATIONS)}, not 1"),
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


def truncated(share: float) -> Callable[[bytes], bytes]:
    return lambda backup: backup[: int(len(backup) * share)]


def flipped(share: float) -> Callable[[bytes], bytes]:
    """Return a function that flips one bit of a backup, at that share of its length."""

    def flip(backup: bytes) -> bytes:
        place = int(len(backup) * share)
        return backup[:place] + bytes([backup[place] ^ 0x10]) + backup[place + 1 :]

    return flip


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        *((truncated(share), "this is no complete backup") for share in (0.0, 0.01, 0.3, 0.6, 0.9, 0.97)),
        *((flipped(share), None) for share in (0.1, 0.5, 0.9)),
        (lambda _: b"hello " * 1000, "this is no"),
        (lambda _: gzip.compress(b"hello " * 1000), "this is no"),
        (lambda _: b"\0" * 20_000, "this is no"),
    ],
)
def test_a_damaged_archive_or_another_file_is_refused_and_changes_nothing(
    folders: Folders, other: Folders, tmp_path: Path, damage: Callable[[bytes], bytes], message: str | None
) -> None:
    folders.put("noise.png", os.urandom(50_000))
    backup, before = folders.backup(), content_of(tmp_path)
    with pytest.raises(ArchiveError, match=message):
        other.restore(damage(backup))
    assert content_of(tmp_path) == before
