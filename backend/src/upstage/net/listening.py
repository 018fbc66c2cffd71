"""Unix socket listeners: a path that a killed process has left must not stop the next one."""

import socket
import stat
from pathlib import Path
from typing import Any

from twisted.application.service import MultiService
from twisted.application.strports import service as listener
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import quoteStringArgument
from twisted.internet.error import CannotListenError
from twisted.internet.interfaces import IProtocolFactory

PROBE_TIME = 1.0  # seconds for a process that may be listening already to accept a connection


class UnixListener(MultiService):
    """Listens on `path`, open to every user; `proxied`: a PROXY protocol header comes first."""

    def __init__(
        self,
        path: Path,
        factory: IProtocolFactory,
        reactor: Any,
        proxied: bool = False,
    ) -> None:
        super().__init__()
        self._path = path
        kind = "haproxy:unix" if proxied else "unix"
        # Without the lock file by which Twisted recognises a stale path: the file contains a process ID, and
        # in a container another process may have the ID that a process of the previous run had.
        where = f"{kind}:{quoteStringArgument(str(path))}:mode=666:lockfile=0:backlog=1024"
        self.addService(listener(where, factory, reactor))

    def startService(self) -> None:
        """Listen; raise CannotListenError."""
        try:
            remove_stale(self._path)
        except OSError as error:
            raise CannotListenError(None, str(self._path), error) from error
        super().startService()

    def stopService(self) -> Deferred[None]:
        """Stop listening and remove the path. If it is gone, create it first, or Twisted would raise."""
        self._path.touch()
        stopped: Deferred[None] = super().stopService()
        return stopped


def remove_stale(path: Path) -> None:
    """Remove a socket on which no process listens. Raise OSError if anything else has its path, or if there
    is no such folder.
    """
    if not path.parent.is_dir():
        raise FileNotFoundError("there is no such folder")
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise FileExistsError("the path exists and is not a socket")
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(PROBE_TIME)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
        else:
            raise FileExistsError("another process is listening on it")
