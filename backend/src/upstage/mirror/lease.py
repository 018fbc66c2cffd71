"""A lease: a file that one process holds at a time, by a lock, and touches while it works.

The kernel releases the lock of a process that dies. A process that hangs keeps its lock, but touches nothing:
another one may then replace the file. The first has lost its lease, and finds a new file at its path.
"""

import fcntl
import os
from io import FileIO
from pathlib import Path

TICK = 0.25  # seconds between two touches


class Lease:
    """The lease at `path`, for the process that holds it and for those that look at it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: FileIO | None = None

    def take(self, text: str) -> bool:
        """Take the lease if no process holds it, and write `text` into it; return whether that succeeded."""
        file = FileIO(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644), "r+")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return False
        self._file = file
        if not self.held:  # replaced between opening and locking
            self.release()
            return False
        self.write(text)
        return True

    def replace(self, text: str) -> bool:
        """Take the lease from a process that hangs; return whether that succeeded."""
        self.path.unlink(missing_ok=True)
        return self.take(text)

    def write(self, text: str) -> None:
        """Tell the other processes something, in one line; the caller holds the lease.

        It is written over the line before: a process that reads an emptied file would see no holder.
        """
        assert self._file is not None
        line = f"{text}\n".encode()
        os.pwrite(self._file.fileno(), line, 0)
        self._file.truncate(len(line))

    @property
    def held(self) -> bool:
        """Whether this process (still) holds the lease."""
        if self._file is None:
            return False
        try:
            return os.path.samestat(self.path.stat(), os.fstat(self._file.fileno()))
        except FileNotFoundError:
            return False

    def touch(self) -> None:
        """Show that this process works."""
        assert self._file is not None
        os.utime(self._file.fileno())

    def release(self) -> None:
        if self._file:
            self._file.close()
            self._file = None

    def text(self) -> str:
        """Return what the holder, another process, has written; empty if no process holds the lease."""
        try:
            with self.path.open() as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except BlockingIOError:
                    return file.readline().strip()
        except FileNotFoundError:
            pass
        return ""


class Pulse:
    """How often in a row a lease had not been touched since the previous look.

    Looks are counted, not seconds: a clock that jumps, or a machine that was suspended, lets no lease expire.
    """

    def __init__(self, lease: Lease) -> None:
        self._path = lease.path
        self._seen: tuple[int, int] | None = None
        self.silent = 0

    def look(self) -> int:
        """Look at the lease once more; return that number."""
        try:
            info = self._path.stat()
            now = (info.st_ino, info.st_mtime_ns)
        except FileNotFoundError:
            now = (0, 0)
        self.silent = self.silent + 1 if now == self._seen else 0
        self._seen = now
        return self.silent
