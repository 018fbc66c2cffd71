"""Listening on a Unix socket: a path that outlives a killed process must not stop the next one."""

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

PATIENCE = 1.0  # seconds for whoever may be listening already


class SocketDoor(MultiService):
    """Listens on `path`, open to every user; `proxied`: a PROXY protocol header comes first."""

    def __init__(self, path: Path, factory: IProtocolFactory, reactor: Any, proxied: bool = False) -> None:
        super().__init__()
        self._path = path
        kind = "haproxy:unix" if proxied else "unix"
        # No lock file, Twisted's way to tell a left-over: it trusts process IDs, and in a container those of
        # the last run are the same again.
        where = f"{kind}:{quoteStringArgument(str(path))}:mode=666:lockfile=0:backlog=1024"
        self.addService(listener(where, factory, reactor))

    def startService(self) -> None:
        """Listen; raise CannotListenError."""
        try:
            make_way(self._path)
        except OSError as error:
            raise CannotListenError(None, str(self._path), error) from error
        super().startService()

    def stopService(self) -> Deferred[None]:
        """Listen no more, and remove the path. Twisted stumbles if somebody has done that already."""
        self._path.touch()
        stopped: Deferred[None] = super().stopService()
        return stopped


def make_way(path: Path) -> None:
    """Remove a socket on which nobody listens; raise OSError if something else is in the way."""
    if not path.parent.is_dir():
        raise FileNotFoundError("there is no such folder")
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise FileExistsError("there is something else of this name")
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(PATIENCE)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
        else:
            raise FileExistsError("somebody listens there already")
