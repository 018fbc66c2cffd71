"""Moves files and folders, all or none: the next process moves back what a killed one has moved."""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from twisted.logger import Logger

from upstage.state.data_lock import locked
from upstage.state.files import write_private

JOURNAL = "moving.json"  # in the data folder while files are moved: the source and target of each move

Moves = Sequence[tuple[Path, Path]]

log = Logger()


@contextmanager
def settled(data: Path) -> Iterator[None]:
    """Hold the lock of backups and restores; before the block, undo the moves that a killed process has
    begun.
    """
    with locked(data / ".backup.lock"):
        _move_back(data)
        yield


def settle(data: Path) -> None:
    """Undo the moves that a killed process has begun; if there are none, do not wait for a running backup."""
    if is_half_moved(data):
        with settled(data):
            pass


def is_half_moved(data: Path) -> bool:
    """Return whether there are moves that were neither finished nor undone."""
    return (data / JOURNAL).exists()


def move_all(data: Path, moves: Moves) -> None:
    """Rename the files and folders that exist; move all of them back if one cannot be moved.

    The caller holds the lock (`settled`). Raise OSError.
    """
    moves = [(source, target) for source, target in moves if source.exists()]
    write_private(data / JOURNAL, json.dumps([(str(source), str(target)) for source, target in moves]))
    os.sync()  # the files to be moved into place must be on the disk first
    try:
        for source, target in moves:
            target.parent.mkdir(mode=0o700, exist_ok=True)
            source.rename(target)
        os.sync()
        (data / JOURNAL).unlink()
    except BaseException:
        _move_back(data)
        raise


def _move_back(data: Path) -> None:
    if not is_half_moved(data):
        return
    for names in reversed(json.loads((data / JOURNAL).read_text("utf-8"))):
        source, target = map(Path, names)
        if target.exists() and not source.exists():
            target.rename(source)
        with suppress(OSError):  # the folder is not empty, or does not exist yet
            target.parent.rmdir()
    os.sync()
    (data / JOURNAL).unlink()
    log.warn("a restore was interrupted: the data are those that were there before")
