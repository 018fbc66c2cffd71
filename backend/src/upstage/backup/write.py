"""Writes a backup: the state of the data at one moment, while the server keeps running."""

import gzip
import hashlib
import os
import shutil
import sqlite3
import stat
import tarfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from upstage import __version__
from upstage.backup.archive import MANIFEST, SMALL_FILES, Manifest, Member, encode_manifest
from upstage.backup.moves import settled
from upstage.state import load_account
from upstage.state.copies import copy_database, files
from upstage.state.database import FILE

STAGING = ".backup"  # in the data folder and in the media folder: names with a leading dot are never served


def write_backup(data: Path, media: Path, account: Path | None, out: BinaryIO) -> None:
    """Write the archive to `out`, without the account `load` if its password is still the one in `account`.

    Raise CopyError, sqlite3.Error, OSError.
    """
    with snapshot(data, media, account) as (copied_data, linked_media):
        small = [name for name in SMALL_FILES if (copied_data / name).exists()]
        found = {f"data/{name}": copied_data / name for name in (FILE, *small)}
        found |= {f"media/{name}": linked_media / name for name in sorted(files(linked_media))}
        members = {name: describe(path) for name, path in found.items()}
        now = datetime.now(UTC).isoformat(timespec="seconds")
        manifest = Manifest(now, __version__, schema_of(copied_data / FILE), members)
        # The fastest compression: nearly all media are compressed already.
        with (
            gzip.GzipFile(fileobj=out, mode="wb", compresslevel=1) as compressed,
            tarfile.open(fileobj=compressed, mode="w|", format=tarfile.PAX_FORMAT) as tar,
        ):
            text = encode_manifest(manifest)
            add(tar, MANIFEST, Member(len(text), "", int(datetime.now(UTC).timestamp() * 1e9)), BytesIO(text))
            for name, member in members.items():
                with found[name].open("rb") as content:
                    add(tar, name, member, content)


@contextmanager
def snapshot(data: Path, media: Path, account: Path | None) -> Iterator[tuple[Path, Path]]:
    """Yield a folder with copies of the data and one with links to the media, both of one moment; they are
    removed after the block.

    The media are hard links: a medium is replaced as a whole, never changed. They are linked before and after
    the database is copied, so that no medium named in the copy is missing, even one just added or removed.
    """
    folders = copied_data, linked_media = data / STAGING, media / STAGING
    with settled(data):
        try:
            for folder in folders:
                shutil.rmtree(folder, ignore_errors=True)  # left by a killed process
                folder.mkdir(mode=0o700)
            link_media(media, linked_media)
            copy_database(data / FILE, copied_data / FILE)
            link_media(media, linked_media)
            if account:
                with closing(sqlite3.connect(copied_data / FILE)) as sql:
                    load_account.leave_out(sql, account)
            for name in SMALL_FILES:
                with suppress(FileNotFoundError):
                    (copied_data / name).write_bytes((data / name).read_bytes())
            yield folders
        finally:
            for folder in folders:
                shutil.rmtree(folder, ignore_errors=True)


def link_media(media: Path, folder: Path) -> None:
    """Link the media that `folder` does not have yet, or has only in an older version."""
    for name in files(media):
        source, link = media / name, folder / name
        with suppress(FileNotFoundError):  # just removed
            info = source.lstat()
            if not stat.S_ISREG(info.st_mode) or (link.exists() and link.samefile(source)):
                continue
            link.parent.mkdir(parents=True, exist_ok=True)
            link.unlink(missing_ok=True)
            os.link(source, link)


def describe(path: Path) -> Member:
    """Return a file's size, checksum and date of change, as the manifest lists them."""
    with path.open("rb") as file:
        sum = hashlib.file_digest(file, "sha256").hexdigest()
        info = os.fstat(file.fileno())
    return Member(info.st_size, sum, info.st_mtime_ns)


def schema_of(database: Path) -> int:
    """Return the number of MIGRATIONS that have run on a database."""
    with closing(sqlite3.connect(database)) as sql:
        [schema] = sql.execute("PRAGMA user_version").fetchone()
    return int(schema)


def add(tar: tarfile.TarFile, name: str, member: Member, content: BinaryIO | BytesIO) -> None:
    """Add a file without an owner: it will belong to the user who unpacks it."""
    info = tarfile.TarInfo(name)
    info.size, info.mtime = member.size, member.date // 10**9
    info.mode = 0o644 if name.startswith("media/") else 0o600
    tar.addfile(info, content)
