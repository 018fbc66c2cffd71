"""Restores a backup into the folders of a server that does not run.

The whole archive is unpacked and checked beside the data before anything of them is moved. What was there is
kept under a dated name.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from upstage.backup.archive import SMALL_FILES, ArchiveError, Manifest, Reader
from upstage.backup.write import schema_of
from upstage.mirror.copying import new_term
from upstage.settings import Pair
from upstage.state.damage import find_damage
from upstage.state.data_lock import locked, unused
from upstage.state.database import FILE

STAGING = ".restore"  # in the data folder and in that of the media: these are never served

Moves = list[tuple[Path, Path]]


def check(data: Path, media: Path, archive: BinaryIO) -> Manifest:
    """Check a backup as `restore` does, and change nothing; the server may run.

    Raise ArchiveError, sqlite3.Error, OSError.
    """
    with unpacked(data, media, archive) as (manifest, _):
        return manifest


def restore(data: Path, media: Path, pair: Pair | None, archive: BinaryIO) -> tuple[Manifest, list[Path]]:
    """Replace the data by those of a backup; return its manifest, and the folders that keep what was there.

    Of two servers, this one has the newer data from then on. Raise ArchiveError, InUseError, sqlite3.Error,
    OSError: then nothing has changed.
    """
    with unused(data), unpacked(data, media, archive) as (manifest, (new_data, new_media)):
        name = dated_name()
        old_data, old_media = data / name, media / f".{name}"
        if old_data.exists() or old_media.exists():
            raise FileExistsError(f"{name} is the name of an earlier restore: try again")
        # The database comes last: a restore that is interrupted has not replaced it.
        moves = [(path, old_media / path.name) for path in media.glob("[!.]*")]
        moves += [(path, media / path.name) for path in new_media.iterdir()]
        for file in SMALL_FILES:
            if (new_data / file).exists():
                moves += [(data / file, old_data / file), (new_data / file, data / file)]
        moves += [(data / file, old_data / file) for file in (f"{FILE}-wal", f"{FILE}-shm", FILE)]
        moves.append((new_data / FILE, data / FILE))
        os.sync()  # what is moved into place is on the disk
        move_all(moves)
        if pair:
            new_term(data, pair)
        return manifest, [folder for folder in (old_data, old_media) if folder.exists()]


def dated_name() -> str:
    """Return a name for what is replaced now."""
    return f"replaced-{datetime.now(UTC):%Y%m%d-%H%M%S}"


@contextmanager
def unpacked(data: Path, media: Path, archive: BinaryIO) -> Iterator[tuple[Manifest, tuple[Path, Path]]]:
    """Yield an archive's manifest, and two folders with its content, which exist inside the block."""
    folders = new_data, new_media = data / STAGING, media / STAGING
    for folder in (data, media):
        folder.mkdir(parents=True, exist_ok=True)
    with locked(data / ".backup.lock"):
        try:
            for folder in folders:
                shutil.rmtree(folder, ignore_errors=True)  # of a killed process
                folder.mkdir(mode=0o700)
            reader = Reader(archive)
            for folder in folders:
                if reader.manifest.size > shutil.disk_usage(folder).free:
                    raise ArchiveError(f"{folder.parent} has no room for {reader.manifest.size / 1e6:.0f} MB")
            for name, content in reader:
                kind, _, rest = name.partition("/")
                path = (new_data if kind == "data" else new_media) / rest
                unpack(path, content, 0o600 if kind == "data" else 0o644)
                date = reader.manifest.members[name].date
                os.utime(path, ns=(date, date))
            check_database(new_data, reader.manifest)
            yield reader.manifest, folders
        finally:
            for folder in folders:
                shutil.rmtree(folder, ignore_errors=True)


def unpack(path: Path, content: Iterator[bytes], mode: int) -> None:
    """Write a new file, and the folders above it."""
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


def move_all(moves: Moves) -> None:
    """Rename files and folders, those that exist; move all of them back if one cannot be moved."""
    done: Moves = []
    try:
        for source, target in moves:
            if source.exists():
                target.parent.mkdir(mode=0o700, exist_ok=True)
                source.rename(target)
                done.append((source, target))
    except OSError:
        for source, target in reversed(done):
            target.rename(source)
        raise
