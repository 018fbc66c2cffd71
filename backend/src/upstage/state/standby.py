"""Two servers over the same folders, one of them a standby: the locks between them."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from twisted.application.service import Service


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock `path`, waiting for other processes. The kernel releases a killed process's lock."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


class Presence(Service):
    """Tells other servers over the same data folder that this one is running, until it stops or dies."""

    def __init__(self, data: Path) -> None:
        """Register. The caller must hold a lock so that no other server starts meanwhile."""
        self._file = (data / ".open").open("a")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.alone = True
        except BlockingIOError:
            self.alone = False
        fcntl.flock(self._file, fcntl.LOCK_SH)  # all running servers share this lock

    def stopService(self) -> None:
        """Unregister."""
        super().stopService()
        self._file.close()
