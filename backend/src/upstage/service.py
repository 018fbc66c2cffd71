"""Putting it together: the house, its two doors, and a start and a stop that leave nothing half done."""

import resource
import sys
from pathlib import Path
from typing import Any

from twisted.application.service import MultiService, Service
from twisted.application.strports import service as listener
from twisted.internet.defer import Deferred
from twisted.internet.error import CannotListenError
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from upstage import __version__, journal
from upstage.accounts import Accounts, keep_password
from upstage.connection import Connections
from upstage.furnish import ContentError, furnish
from upstage.house import House
from upstage.settings import Settings
from upstage.sockets import StageSocketFactory
from upstage.web.tree import build_site

PATIENCE = 3.0  # seconds for clients to take what was sent to them, when the server stops

log = Logger()


class StartError(Exception):
    """The server cannot start; the message says why, for the person who started it."""


class Visitors(Service):
    """Everybody connected: says goodbye when the server stops."""

    def __init__(self, connections: Connections, reactor: IReactorTime) -> None:
        self._connections = connections
        self._reactor = reactor

    def stopService(self) -> Deferred[None]:
        """Close all connections; fires when they are gone, at the latest after PATIENCE."""
        super().stopService()
        return Deferred.fromCoroutine(self._connections.close(self._reactor, PATIENCE))


def build(settings: Settings, reactor: Any) -> MultiService:  # a reactor is many interfaces at once
    """Furnish the house and return the service that opens it; raise StartError."""
    try:
        writable(settings.data)
        writable(settings.media)
        stages = furnish(settings.content, settings.media)
        accounts = Accounts(settings.admin_password or keep_password(settings.data))
    except (ContentError, OSError) as error:
        raise StartError(str(error)) from error
    connections = Connections(House(stages))
    site = build_site(connections, accounts, settings.site, settings.media)
    services = MultiService()
    services.addService(Visitors(connections, reactor))
    services.addService(listener(settings.web.description, site, reactor))
    services.addService(listener(settings.stage.description, StageSocketFactory(connections), reactor))
    return services


def writable(folder: Path) -> None:
    """Create a folder if need be; raise OSError, with its name, if nothing can be written there."""
    folder.mkdir(parents=True, exist_ok=True)
    probe = folder / ".writable"
    probe.touch()
    probe.unlink()


def serve(settings: Settings) -> int:
    """Run until SIGTERM or SIGINT; return the exit status."""
    from twisted.internet import reactor  # importing it installs it

    raise_file_limit()
    try:
        services = build(settings, reactor)
        services.startService()
    except (StartError, CannotListenError) as error:
        print(f"upstage: {error}", file=sys.stderr)
        return 1
    journal.begin()
    log.info(
        "the house is open",
        fields={
            "version": __version__,
            "web": settings.web.description,
            "stage": settings.stage.description,
        },
    )
    reactor.addSystemEventTrigger("before", "shutdown", services.stopService)
    reactor.run()
    return 0


def raise_file_limit() -> None:
    """Every client is an open file: take as many as the system allows."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
