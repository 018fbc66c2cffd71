"""The lock on a data folder: two servers over the same folder would each overwrite what the other writes."""

import fcntl
from pathlib import Path

from twisted.application.service import Service


class FolderInUse(OSError):
    """Another server uses the folder."""


class Presence(Service):
    """Holds the lock on a data folder until the server stops; the kernel releases a killed server's lock."""

    def __init__(self, data: Path) -> None:
        """Take the lock; raise FolderInUse, or OSError if the folder cannot be written."""
        data.mkdir(parents=True, exist_ok=True)
        self._file = (data / ".open").open("a")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            raise FolderInUse(f"another backend uses {data}: each needs a data folder of its own") from None

    def stopService(self) -> None:
        """Release the lock."""
        super().stopService()
        self._file.close()
