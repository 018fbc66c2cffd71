"""One server at a time serves a data folder under one name; a second one waits until the first has ended."""

import fcntl
import sys
from pathlib import Path

from twisted.application.service import Service


class Turn(Service):
    """Holds the lock on a folder and a name until the server stops; the kernel releases a killed server's."""

    def __init__(self, data: Path, name: str) -> None:
        """Take the lock. If another server has it, say so in one line on standard error, and wait.

        Waiting, because the engine would restart a process that ends, again and again. Meanwhile no port is
        open, so the health check reports that this one serves nothing.
        """
        self._file = (data / f".serving-{name}").open("a")
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
        """Release the lock."""
        super().stopService()
        self._file.close()
