"""Putting it together: the house, its two doors, and a start and a stop that leave nothing half done."""

import resource
import sqlite3
import sys
from functools import partial
from pathlib import Path
from typing import Any

from twisted.application.internet import TimerService
from twisted.application.service import MultiService, Service
from twisted.application.strports import service as listener
from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.error import CannotListenError
from twisted.logger import Logger

from upstage import __version__, journal
from upstage.accounts import Accounts
from upstage.admin_password import keep_password
from upstage.brake import TooManyFailures, TooManyWaiting
from upstage.connection import HEARTBEAT, Connections
from upstage.database import Database
from upstage.furnish import ContentError, furnish
from upstage.listening import SocketDoor
from upstage.media import UPLOAD_TIME, sweep
from upstage.members import Player
from upstage.metrics import MeasuredHouse, Metrics, MetricsSite, Sources
from upstage.passwords import HASHER, Busy, Passwords
from upstage.purge import Purger
from upstage.records import RecordError
from upstage.repertoire import Repertoire
from upstage.settings import Settings
from upstage.sockets import StageSocketFactory
from upstage.speech import LIFETIME, Speaker
from upstage.standby import Presence, locked
from upstage.store import Store
from upstage.web.admin import Backstage
from upstage.web.tree import build_site
from upstage.web.webcam import Frames
from upstage.webcam import Check, Pictures, Refused, WebcamFactory

COUNTS_PAUSE = 0.05  # seconds between two JOINED frames, however many come and go
PATIENCE = 3.0  # seconds for clients to take what was sent to them, when the server stops
SWITCH = (
    0.0005  # seconds a busy reactor keeps the thread waiting that writes the chat down; Python's are 5 ms
)

log = Logger()


class StartError(Exception):
    """The server cannot start; the message says why, for the person who started it."""


class Visitors(Service):
    """Everybody connected: says goodbye when the server stops."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def stopService(self) -> Deferred[None]:
        """Close all connections; fires when they are gone, at the latest after PATIENCE."""
        super().stopService()
        return Deferred.fromCoroutine(self._connections.close(PATIENCE))


class InTurn(MultiService):
    """Stops its services one after another, in the order in which they were added."""

    def stopService(self) -> Deferred[None]:
        """Fires when the last of them has stopped."""
        Service.stopService(self)

        async def stop() -> None:
            for service in list(self):
                await maybeDeferred(service.stopService)

        return Deferred.fromCoroutine(stop())


def build(settings: Settings, reactor: Any) -> MultiService:  # a reactor is many interfaces at once
    """Furnish the house and return the service that opens it; raise StartError."""
    try:
        settings.data.mkdir(parents=True, exist_ok=True)
        with locked(settings.data / ".starting"):  # a stand-by may start at the same moment
            presence = Presence(settings.data)
            writable(settings.data)
            writable(settings.media)
            writable(settings.data / "speech")
            writable(settings.media / "video")
            # Where another server is at work, only what is old is sure to be nobody's.
            sweep(settings.media, 0 if presence.alone else UPLOAD_TIME)
            database = Database(settings.data)
            furnish(settings.content, settings.media, database)
            password = settings.admin_password or keep_password(settings.data)
    except (ContentError, RecordError, OSError, sqlite3.Error) as error:
        raise StartError(str(error)) from error
    admin = HASHER.hash(password)
    speaker = Speaker(settings.data / "speech", reactor, spare=0 if presence.alone else LIFETIME)
    store, passwords = Store(database, reactor), Passwords(reactor)
    later = partial(reactor.callLater, COUNTS_PAUSE)
    house = MeasuredHouse([], keep=store.keep, speak=speaker.speak, later=later)
    accounts = Accounts(admin, passwords.matches)
    purger = Purger(reactor, settings.purge)
    backstage = Backstage(
        house=house,
        accounts=accounts,
        passwords=passwords,
        repertoire=Repertoire(database, store, passwords, house, accounts, reactor),
        purger=purger,
        media=settings.media,
        signup=settings.signup,
    )
    connections = Connections(house, reactor, max_per_address=settings.connections_per_address)
    frames = Frames(settings.media / "video", reactor)
    pictures = Pictures(settings.media / "video", arrived=backstage.repertoire.camera)
    site = build_site(connections, backstage, speaker, frames, settings.site, settings.web.port)
    sources = Sources(
        connections,
        queues={
            "speech": lambda: speaker.queued,
            "chat": lambda: store.queued,
            "passwords": lambda: passwords.queued,
            "purges": lambda: purger.queued,
            "turns": lambda: len(connections.shared.turns),
        },
        held={"speech": lambda: speaker.held, "webcam": lambda: frames.held},
        outcomes={
            "chat_lines": store.outcomes,
            "utterances": speaker.outcomes,
            "webcam_pictures": pictures.outcomes,
            "purges": purger.outcomes,
        },
    )
    metrics = Metrics(sources, house, reactor)
    services = InTurn()
    services.addService(listener(settings.web.description, site, reactor))
    services.addService(listener(settings.stage.description, StageSocketFactory(connections), reactor))
    if settings.sockets:
        services.addService(SocketDoor(settings.sockets.web, site, reactor))
        services.addService(
            SocketDoor(settings.sockets.stage, StageSocketFactory(connections), reactor, proxied=True)
        )
    if settings.ftp:
        door = WebcamFactory(
            check_with(accounts), pictures, reactor, settings.ftp_ports, settings.ftp_address
        )
        services.addService(listener(settings.ftp.description, door, reactor))
    services.addService(listener(settings.metrics.description, MetricsSite(metrics.registry), reactor))
    services.addService(metrics)
    services.addService(TimerService(HEARTBEAT, connections.beat))
    services.addService(Visitors(connections))
    services.addService(speaker)
    services.addService(purger)
    services.addService(backstage.repertoire)  # near the end: what was said until then is written down
    services.addService(presence)
    return services


def check_with(accounts: Accounts) -> Check:
    """Return what tells the webcam door who somebody is; guessing is braked there as on the page."""

    async def check(name: str, password: str, address: str) -> Player | None:
        try:
            account = await accounts.check(name, password, address)
        except TooManyFailures as error:
            raise Refused(str(error)) from error
        except (TooManyWaiting, Busy) as error:
            raise Refused("too many passwords wait to be checked: try again") from error
        return account.player if account else None

    return check


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
    sys.setswitchinterval(SWITCH)
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
            "sockets": str(settings.sockets.prefix) if settings.sockets else None,
        },
    )
    reactor.addSystemEventTrigger("before", "shutdown", services.stopService)
    reactor.run()
    return 0


def raise_file_limit() -> None:
    """Every client is an open file: take as many as the system allows."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
