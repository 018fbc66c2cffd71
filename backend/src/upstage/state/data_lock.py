"""Locks between processes: one server at a time uses a data folder; a second one waits, then gives up."""

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from twisted.application.service import Service
from twisted.logger import Logger

SERVING = ".serving"  # the lock on a data folder
PATIENCE = 20.0  # seconds for another server to end, or to be ended (bin/lib/containers.sh)
WAITS = "waits for the data"

log = Logger()


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
    """Hold the lock on a data folder, so that no server starts; create the folder if it is missing.

    Raise InUseError.
    """
    data.mkdir(parents=True, exist_ok=True)
    with (data / SERVING).open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InUseError(f"a server uses {data}: stop it first, as make restore does") from None
        yield


class DataLock(Service):
    """Holds the lock on a data folder until the server stops; the kernel releases a killed server's lock."""

    def __init__(self, data: Path) -> None:
        """Take the lock, waiting up to PATIENCE seconds; raise OSError if the folder cannot be written,
        InUseError if it stays in use.
        """
        data.mkdir(parents=True, exist_ok=True)
        self._file = (data / SERVING).open("a")
        began = 0.0
        while True:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if not began:
                    began = time.monotonic()
                    log.info(WAITS, fields={"seconds": PATIENCE, "data": str(data)})
                if time.monotonic() > began + PATIENCE:
                    raise InUseError(
                        f"another server of this stack, or a restore, is running: it holds {data / SERVING}. "
                        "This one has changed nothing, and ends. "
                        "For another UpStage: make up THEATRES=second"
                    ) from None
                time.sleep(0.02)

    def stopService(self) -> None:
        super().stopService()
        self._file.close()
