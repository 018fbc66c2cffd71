"""Restores a backup into the folders of a server that is not running.

The whole archive is unpacked and checked beside the data before any file is moved. The replaced files stay in
folders named after the date, until `remove_replaced`.
"""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from upstage.backup.archive import SMALL_FILES, ArchiveError, Manifest, Reader
from upstage.backup.moves import is_half_moved, move_all, settled
from upstage.backup.write import schema_of
from upstage.state.copies import files
from upstage.state.damage import find_damage
from upstage.state.data_lock import unused
from upstage.state.database import FILE

MOVED = "replaced-by-move"
STAGING = ".restore"  # in the data folder and in the media folder: names with a leading dot are never served


def check(data: Path, media: Path, archive: BinaryIO) -> Manifest:
    """Check a backup as `restore` does, change nothing, and return its manifest; the server may run.

    Raise ArchiveError, sqlite3.Error, OSError.
    """
    with unpacked(data, media, archive) as (manifest, _):
        return manifest


def restore(data: Path, media: Path, archive: BinaryIO, moving: bool = False) -> Manifest:
    """Replace the data by those of a backup, with no user signed in; return its manifest.

    `moving`: the backup comes from another server that has just stopped (extras/mirror). Its users stay
    signed in, and the data that an earlier move has replaced are removed first. Raise ArchiveError,
    InUseError, sqlite3.Error, OSError: then the server's data are unchanged.
    """
    name = MOVED if moving else dated_name()
    old_data, old_media = data / name, media / f".{name}"
    data.mkdir(parents=True, exist_ok=True)
    with unused(data):
        if moving:
            with settled(data):
                for folder in (old_data, old_media):
                    shutil.rmtree(folder, ignore_errors=True)
        return _replace(data, media, archive, (old_data, old_media), sign_out=not moving)


def _replace(data: Path, media: Path, archive: BinaryIO, old: tuple[Path, Path], sign_out: bool) -> Manifest:
    """Move the present data into the `old` folders, and the content of the archive into their place; return
    its manifest.
    """
    old_data, old_media = old
    with unpacked(data, media, archive) as (manifest, (new_data, new_media)):
        if old_data.exists() or old_media.exists():
            raise FileExistsError(f"{old_data.name} is the name of an earlier restore: try again")
        if sign_out:
            sign_out_all(new_data / FILE)
        moves = [(path, old_media / path.name) for path in media.glob("[!.]*")]
        moves += [(path, media / path.name) for path in new_media.iterdir()]
        for file in SMALL_FILES:
            if (new_data / file).exists():
                moves += [(data / file, old_data / file), (new_data / file, data / file)]
        moves += [(data / file, old_data / file) for file in (f"{FILE}-wal", f"{FILE}-shm", FILE)]
        moves.append((new_data / FILE, data / FILE))
        move_all(data, moves)
        return manifest


def sign_out_all(database: Path) -> None:
    """Remove the sessions: a session that has ended since the backup must not be valid again."""
    with closing(sqlite3.connect(database)) as sql, sql:
        if sql.execute("SELECT 1 FROM sqlite_master WHERE name = 'session'").fetchone():  # schema 3 or later
            sql.execute("DELETE FROM session")


def replaced(data: Path, media: Path) -> dict[Path, int]:
    """Return the folders of replaced data that restores have left, and the bytes in each."""
    folders = [*sorted(data.glob("replaced-*")), *sorted(media.glob(".replaced-*"))]
    return {folder: sum(size for size, _ in files(folder).values()) for folder in folders}


def remove_replaced(data: Path, media: Path) -> dict[Path, int]:
    """Remove the folders of replaced data, and return what `replaced` says of them; the server may run. Raise
    OSError.
    """
    with settled(data):
        found = replaced(data, media)
        for folder in found:
            shutil.rmtree(folder)
        return found


def dated_name() -> str:
    """Return a name with the present time, for the folders that keep replaced data."""
    return f"replaced-{datetime.now(UTC):%Y%m%d-%H%M%S}"


@contextmanager
def unpacked(data: Path, media: Path, archive: BinaryIO) -> Iterator[tuple[Manifest, tuple[Path, Path]]]:
    """Yield an archive's manifest, and two folders with its content that are removed after the block. Raise
    ArchiveError if it is invalid, or larger than the room on the disk.
    """
    folders = new_data, new_media = data / STAGING, media / STAGING
    for folder in (data, media):
        folder.mkdir(parents=True, exist_ok=True)
    with settled(data):
        try:
            for folder in folders:
                shutil.rmtree(folder, ignore_errors=True)  # left by a killed process
                folder.mkdir(mode=0o700)
            reader = Reader(archive)
            for folder in folders:
                if reader.manifest.size > shutil.disk_usage(folder).free:
                    kept = sum(replaced(data, media).values()) / 1e6
                    raise ArchiveError(
                        f"{folder.parent} has no room for {reader.manifest.size / 1e6:.0f} MB; "
                        f"make restore REMOVE=replaced frees {kept:.0f} MB"
                    )
            for name, content in reader:
                kind, _, rest = name.partition("/")
                path = (new_data if kind == "data" else new_media) / rest
                unpack(path, content, 0o600 if kind == "data" else 0o644)
                date = reader.manifest.members[name].date
                os.utime(path, ns=(date, date))
            check_database(new_data, reader.manifest)
            yield reader.manifest, folders
        finally:
            if not is_half_moved(data):  # undoing the moves needs the files that have not been moved
                for folder in folders:
                    shutil.rmtree(folder, ignore_errors=True)


def unpack(path: Path, content: Iterator[bytes], mode: int) -> None:
    """Write a new file; create its parent folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        for chunk in content:
            file.write(chunk)


def check_database(folder: Path, manifest: Manifest) -> None:
    """Raise ArchiveError unless the unpacked database is whole and has the schema of the manifest."""
    if problem := find_damage(folder):
        raise ArchiveError(f"the database in the backup is damaged: {problem}")
    if (schema := schema_of(folder / FILE)) != manifest.schema:
        raise ArchiveError(f"the database in the backup has schema {schema}, not {manifest.schema}")
