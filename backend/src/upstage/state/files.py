"""Files that are written as a whole: another process sees either the old content or the new one."""

import os
from pathlib import Path


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read."""
    temporary = path.with_name(f".{path.name}.new")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def write_medium(path: Path, data: bytes) -> None:
    """Write a file below /media, unless it already has this content.

    An unchanged file keeps its date, so the caches' copies stay valid after a restart.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_file() and path.read_bytes() == data:
        return
    temporary = path.with_name(f".{path.name}.new")  # names with a leading dot are never served
    temporary.write_bytes(data)
    replace_medium(path, temporary)


def replace_medium(path: Path, new: Path) -> None:
    """Put a file in place of another, if there is one, with a later date: the dates and tags in responses
    count whole seconds.
    """
    new.chmod(0o644)  # nginx, another user, reads the media folder, too
    if path.exists() and (date := int(path.stat().st_mtime) + 1) > new.stat().st_mtime:
        os.utime(new, (date, date))
    new.replace(path)
