"""Two servers over the same folders, one the other's stand-by: what keeps them out of each other's way."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from twisted.application.service import Service


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Wait until nobody else has the lock `path`, then hold it. The system lets go for who is killed."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


class Presence(Service):
    """Tells other servers over the same data folder that there is this one, until it stops or dies."""

    def __init__(self, data: Path) -> None:
        """Come in, while no other server starts: hold a lock of one's own around this."""
        self._file = (data / ".open").open("a")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.alone = True
        except BlockingIOError:
            self.alone = False
        fcntl.flock(self._file, fcntl.LOCK_SH)  # as many as there are may hold this at once

    def stopService(self) -> None:
        """Leave."""
        super().stopService()
        self._file.close()
