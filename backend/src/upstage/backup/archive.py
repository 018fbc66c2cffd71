"""The format of a backup: a tar archive, compressed by gzip, that begins with a list of its members.

    manifest.json       version, schema and time of the data; size, SHA-256 and date of each other member
    data/upstage.db     the database
    data/...            the files in SMALL_FILES that exist
    media/...           the media

Recordings of spoken lines are left out, because they live for 90 seconds.

An archive may come from anywhere, so reading trusts nothing in it: a member must be listed, have the listed
size and checksum, be a plain file, and have a name that stays inside its folder.
"""

import gzip
import hashlib
import json
import re
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import IO, Any, BinaryIO, NamedTuple

from upstage.state.admin_password import PASSWORD_FILE
from upstage.state.database import FILE
from upstage.state.schema import MIGRATIONS

FORMAT = 1
MANIFEST = "manifest.json"
SMALL_FILES = (PASSWORD_FILE, "lessons.json")  # in the data folder, beside the database
DATA = {f"data/{name}" for name in (FILE, *SMALL_FILES)}
# No part of a path begins with a dot: this rules out `..`, and names that are never served.
MEDIUM = re.compile(r"media(/[^./\0][^/\0]*)+")
MAX_MANIFEST = 16_000_000  # bytes: enough for some 80,000 members
MAX_HEADER = 65_536  # bytes between the content of one member and that of the next
CHUNK = 65_536  # bytes


class ArchiveError(Exception):
    """The file is not a backup that can be restored here; the message says why."""


class Member(NamedTuple):
    """What the manifest says about one file in the archive."""

    size: int  # bytes
    sha256: str  # hexadecimal
    date: int  # of the last change, in ns since 1970; a restored medium keeps it, and so its validators


@dataclass(frozen=True)
class Manifest:
    """The list of an archive's members, in the archive's order."""

    made: str  # ISO 8601, UTC
    version: str  # of the release that wrote the archive
    schema: int  # the number of MIGRATIONS that have run on the database
    members: dict[str, Member]

    @property
    def size(self) -> int:
        """The bytes of all members together, uncompressed."""
        return sum(member.size for member in self.members.values())

    def __str__(self) -> str:
        media = [member.size for name, member in self.members.items() if name.startswith("media/")]
        small = [name.removeprefix("data/") for name in self.members if name in DATA - {f"data/{FILE}"}]
        made = datetime.fromisoformat(self.made)
        parts = [
            f"the database ({self.members[f'data/{FILE}'].size / 1000:.0f} kB)",
            f"{len(media)} media ({sum(media) / 1000:.0f} kB)",
            *small,
        ]
        return f"the data of {made:%Y-%m-%d %H:%M:%S} UTC, release {self.version}: {', '.join(parts)}"


def encode_manifest(manifest: Manifest) -> bytes:
    members = {name: member._asdict() for name, member in manifest.members.items()}
    return json.dumps({"format": FORMAT, **asdict(manifest), "members": members}, indent=1).encode()


def decode_manifest(text: bytes) -> Manifest:
    """Return the manifest, every value of it checked; raise ArchiveError if one is invalid, if there is no
    database, or if its schema is newer than this release's.
    """
    try:
        table = json.loads(text)
        if table["format"] != FORMAT:
            raise ArchiveError("the backup has the format of another release: update this one first")
        manifest = Manifest(
            datetime.fromisoformat(table["made"]).isoformat(timespec="seconds"),
            _matching(r"[0-9A-Za-z.+-]{1,40}", table["version"]),
            _count(table["schema"]),
            {_name(name): _member(**member) for name, member in table["members"].items()},
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ArchiveError(f"the backup's {MANIFEST} is invalid: {error!r}") from error
    if f"data/{FILE}" not in manifest.members:
        raise ArchiveError("the backup has no database")
    if manifest.schema > len(MIGRATIONS):
        raise ArchiveError(
            f"the backup was made by a newer release, {manifest.version}: its database has schema "
            f"{manifest.schema}, this release knows {len(MIGRATIONS)}. Update this one first"
        )
    return manifest


def _member(size: Any, sha256: Any, date: Any) -> Member:
    return Member(_count(size), _matching("[0-9a-f]{64}", sha256), _count(date))


def _name(name: str) -> str:
    if name not in DATA and not MEDIUM.fullmatch(name):
        raise ValueError(f"{name!r} is no name of a member")
    return name


def _matching(pattern: str, text: Any) -> str:
    if not isinstance(text, str) or not re.fullmatch(pattern, text):
        raise ValueError(f"{text!r}")
    return text


def _count(number: Any) -> int:
    if type(number) is not int or not 0 <= number < 2**63:
        raise ValueError(f"{number!r}")
    return number


class _Metered:
    """Reads the uncompressed archive; after `left` more bytes it raises ArchiveError.

    Without a limit, a header that claims gigabytes would be read into memory.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.left = 0

    def read(self, size: int) -> bytes:
        data = self._stream.read(size)
        self.left -= len(data)
        if self.left < 0:
            raise ArchiveError("the backup has more data than its members may have")
        return data


class Reader:
    """Reads an archive from a stream, which may be a pipe. Every method may raise ArchiveError."""

    def __init__(self, stream: BinaryIO) -> None:
        self._metered = _Metered(gzip.GzipFile(fileobj=stream, mode="rb"))  # type: ignore[arg-type]
        with refusing():
            self._metered.left = MAX_HEADER
            self._tar = open_tar(self._metered)
            info = self._next()
            if info is None or info.name != MANIFEST or not is_plain(info) or info.size > MAX_MANIFEST:
                raise ArchiveError(f"this is no backup: it does not begin with {MANIFEST}")
            self.manifest = decode_manifest(b"".join(self._content(info)))

    def _next(self) -> tarfile.TarInfo | None:
        self._metered.left = MAX_HEADER
        info: tarfile.TarInfo | None = self._tar.next()
        return info

    def _content(self, info: tarfile.TarInfo) -> Iterator[bytes]:
        self._metered.left = info.size + MAX_HEADER
        file: IO[bytes] | None = self._tar.extractfile(info)
        assert file  # extractfile returns None only for a member that is not a plain file
        while chunk := file.read(CHUNK):
            yield chunk

    def __iter__(self) -> Iterator[tuple[str, Iterator[bytes]]]:
        """Yield each member's name and content; read the content before the next member.

        Each content is checked when its last byte has been read; missing members are noticed at the end.
        """
        missing = dict(self.manifest.members)
        while True:
            with refusing():
                info = self._next()
            if info is None:
                break
            if (member := missing.pop(info.name, None)) is None:
                raise ArchiveError(f"{info.name!r} is not in the list of the backup, or twice in the backup")
            if not is_plain(info) or info.size != member.size:
                raise ArchiveError(f"{info.name!r} is not the plain file that the list of the backup has")
            yield info.name, self._checked(info, member)
        if missing:
            raise ArchiveError(f"the backup is incomplete: {next(iter(missing))!r} is missing")

    def _checked(self, info: tarfile.TarInfo, member: Member) -> Iterator[bytes]:
        sum = hashlib.sha256()
        content = self._content(info)
        while True:
            with refusing():
                chunk = next(content, b"")
            if not chunk:
                break
            sum.update(chunk)
            yield chunk
        if sum.hexdigest() != member.sha256:
            raise ArchiveError(f"{info.name!r} is damaged: its sum is not that of the list")


def open_tar(stream: _Metered) -> tarfile.TarFile:
    """Return a tar archive that is read once, from beginning to end, without seeking."""
    return tarfile.open(fileobj=stream, mode="r|")  # type: ignore[call-overload, no-any-return]


def is_plain(info: tarfile.TarInfo) -> bool:
    """Return whether a member is a plain file: not a link, device, folder or sparse file."""
    return info.type == tarfile.REGTYPE and not info.issparse()


@contextmanager
def refusing() -> Iterator[None]:
    """Turn the errors of a damaged archive into ArchiveError."""
    try:
        yield
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, ValueError) as error:
        raise ArchiveError(f"this is no complete backup: {error}") from error
