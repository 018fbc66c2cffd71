"""Locks between processes: one server at a time uses a data folder; a second one waits for its end."""

import fcntl
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from twisted.application.service import Service

SERVING = ".serving"  # the lock on a data folder


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock `path`, waiting for other processes. The kernel releases a killed process's lock."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


class InUseError(Exception):
    """A server uses the data folder."""


@contextmanager
def unused(data: Path) -> Iterator[None]:
    """Hold the lock on a data folder, so that a server that starts waits; make the folder if need be.

    Raise InUseError.
    """
    data.mkdir(parents=True, exist_ok=True)
    with (data / SERVING).open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InUseError(f"a server uses {data}: stop it first") from None
        yield


class DataLock(Service):
    """Holds the lock on a data folder until the server stops; the kernel releases a killed server's lock."""

    def __init__(self, data: Path) -> None:
        """Take the lock; raise OSError if the folder cannot be written.

        If another server has it, say so in one line on standard error, and wait: the engine would restart a
        process that ends, again and again. Meanwhile no port is open, so the health check reports that this
        one serves nothing.
        """
        data.mkdir(parents=True, exist_ok=True)
        self._file = (data / SERVING).open("a")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(
                f"upstage: another server serves {data}; this one waits until that one has ended. "
                "Two processes cannot share a stage. For another UpStage: make up THEATRES=second. "
                "For a standby: make up EXTRAS=mirror",
                file=sys.stderr,
                flush=True,
            )
            fcntl.flock(self._file, fcntl.LOCK_EX)

    def stopService(self) -> None:
        super().stopService()
        self._file.close()
