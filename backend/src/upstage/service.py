"""The service tree: builds each part of the server, starts it, and stops it without losing data."""

import resource
import sqlite3
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from twisted.application.internet import TimerService
from twisted.application.service import MultiService, Service
from twisted.application.strports import service as listener
from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.error import CannotListenError
from twisted.logger import Logger

from upstage import __version__
from upstage.backup.moves import settle
from upstage.log import start_logging
from upstage.media.files import sweep
from upstage.media.speech import Speaker
from upstage.net.connection import HEARTBEAT, SWEEP, Connections
from upstage.net.lane import Lane
from upstage.net.listening import UnixListener
from upstage.net.metrics import MeasuredStages, Metrics, MetricsSite, Sources
from upstage.net.pictures import Pictures, Rejected
from upstage.net.purge import TOLD, Purger
from upstage.net.sockets import StageSocketFactory
from upstage.net.webcam import Check, WebcamFactory
from upstage.settings import Settings
from upstage.stage.players import Player
from upstage.state.accounts import Accounts
from upstage.state.admin_password import keep_password
from upstage.state.damage import find_damage
from upstage.state.data_lock import DataLock, InUseError
from upstage.state.database import FILE, Database
from upstage.state.in_memory import LiveState
from upstage.state.load_account import keep_load_account
from upstage.state.login_limits import TooManyFailures, TooManyWaiting
from upstage.state.passwords import Busy, Passwords
from upstage.state.records import RecordError
from upstage.state.seed import ContentError, seed
from upstage.state.sessions import Sessions, admin_hash
from upstage.state.store import Store
from upstage.web.admin import SiteContext
from upstage.web.lessons import LessonsFolder, write_lessons
from upstage.web.templates import Pages
from upstage.web.urls import build_site
from upstage.web.visit import Published
from upstage.web.webcam import Frames

COUNTS_PAUSE = 0.05  # seconds from one JOINED frame to the next, however many clients come and go
STOP_TIME = 3.0  # seconds that clients have to read their last frames when the server stops
# Seconds after which a busy reactor hands Python's lock to the thread that writes the chat; Python's default,
# 5 ms, would delay each chat line.
SWITCH_INTERVAL = 0.0005

log = Logger()


class StartError(Exception):
    """The server cannot start; the message tells the operator why."""


class ConnectionCloser(Service):
    """Closes the connections of all stage clients when the server stops."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def stopService(self) -> Deferred[None]:
        """Fire when all are closed, after STOP_TIME at the latest."""
        super().stopService()
        return Deferred.fromCoroutine(self._connections.close(STOP_TIME))


class OrderedShutdown(MultiService):
    """Stops its services one after another, in the order in which they were added."""

    def stopService(self) -> Deferred[None]:
        """Fire when the last service has stopped."""
        Service.stopService(self)

        async def stop() -> None:
            for service in list(self):
                await maybeDeferred(service.stopService)

        return Deferred.fromCoroutine(stop())


@dataclass(frozen=True)
class Stored:
    """The data that the server reads before it starts."""

    database: Database
    admin_password: str


def read_stored(settings: Settings) -> Stored:
    """Prepare the folders and the database; return the database and the administrator's password. Raise
    StartError.
    """
    data, media = settings.data, settings.media
    try:
        for folder in (data, media, data / "speech", media / "video"):
            writable(folder)
        sweep(media)
        if problem := find_damage(data):
            raise StartError(
                f"{data / FILE} is damaged ({problem}). To bring back the newest backup, type: make restore. "
                "Without one, to keep the file under another name and start with an empty one, type: "
                "docker compose run --rm --no-deps backend upstage set-aside. "
                "docs/operations.md says what can be saved."
            )
        has_vanished = not (data / FILE).exists() and any(media.glob("[!.]*.*"))
        database = Database(data)
        if has_vanished:
            log.warn(
                "there was no database, though there are media: accounts, stages and chat start over",
                fields={"made": str(data / FILE), "media": str(media)},
            )
        seed(settings.content, media, database, () if settings.festival else ("festival",))
        if settings.load_account:
            keep_load_account(database, settings.load_account)
        password = settings.admin_password or keep_password(data)
        if settings.lessons and (why := write_lessons(settings.lessons, data)):
            log.warn("the pages of the lessons could not be written", fields={"why": why})
        return Stored(database, password)
    except (ContentError, RecordError, OSError, sqlite3.Error) as error:
        raise StartError(str(error)) from error


class Parts:
    """The parts of the server, each built from earlier ones."""

    def __init__(self, settings: Settings, reactor: Any) -> None:
        published = Published(
            settings.http_port,
            settings.locust_port,
            settings.web_port,
            settings.theatres,
        )
        stored = read_stored(settings)
        self.speaker = Speaker(settings.data / "speech", reactor)
        self.store, self.passwords = Store(stored.database, reactor), Passwords(reactor)
        later = partial(reactor.callLater, COUNTS_PAUSE)
        self.stages = MeasuredStages(keep=self.store.keep, speak=self.speaker.speak, later=later)
        sessions = stored.database.sessions()
        admin = admin_hash(stored.admin_password, sessions)
        self.accounts = Accounts(admin, self.passwords.matches, Sessions(stored.database, self.store))
        self.state = LiveState(
            stored.database, self.store, self.passwords, self.stages, self.accounts, reactor
        )
        self.accounts.restore(sessions, time.time())
        self.purger = Purger(reactor, settings.caches, settings.data / TOLD)
        self.connections = Connections(
            self.stages,
            reactor,
            settings.max_unread,
            max_per_address=settings.connections_per_address,
            max_together=settings.connections,
        )
        self.frames = Frames(settings.media / "video", reactor)
        self.pictures = Pictures(settings.media / "video", arrived=self.state.add_webcam)
        self.anonymous = Lane(reactor, settings.anonymous_fetches)
        pages = Pages(settings.site, published, has_lessons=settings.lessons is not None)
        lessons = LessonsFolder(pages, settings.data / "lessons") if settings.lessons else None
        context = SiteContext(
            connections=self.connections,
            accounts=self.accounts,
            passwords=self.passwords,
            state=self.state,
            purger=self.purger,
            speaker=self.speaker,
            frames=self.frames,
            media=settings.media,
            anonymous=self.anonymous,
            signup=settings.signup,
        )
        self.site = build_site(pages, context, lessons, settings.web.port)
        self.metrics = Metrics(self._sources(), self.stages, reactor)

    def _sources(self) -> Sources:
        """Return the counters and queues of the parts, which the metrics read at each scrape."""
        return Sources(
            self.connections,
            queues={
                "speech": lambda: self.speaker.queued,
                "changes": lambda: self.store.queued,
                "passwords": lambda: self.passwords.queued,
                "purges": lambda: self.purger.queued,
                "turns": lambda: len(self.connections.shared.slices),
                "anonymous": lambda: len(self.anonymous),
            },
            long_polls={"speech": lambda: self.speaker.waiting, "webcam": lambda: self.frames.waiting},
            outcomes={
                "stage_changes": self.store.outcomes,
                "utterances": self.speaker.outcomes,
                "webcam_pictures": self.pictures.outcomes,
                "purges": self.purger.outcomes,
                "anonymous": self.anonymous.outcomes,
            },
        )


def listeners(settings: Settings, parts: Parts, reactor: Any) -> Iterator[Service]:
    """Yield a service for each port and Unix socket of the settings."""
    stage = StageSocketFactory(parts.connections)
    direct = parts.site.without_proxy(settings.web_port or settings.web.port)
    yield listener(settings.web.description, parts.site, reactor)
    yield listener(settings.stage.description, stage, reactor)
    if settings.sockets:
        yield UnixListener(settings.sockets.web, parts.site, reactor)
        yield UnixListener(settings.sockets.stage, stage, reactor, proxied=True)
        yield UnixListener(settings.sockets.direct, direct, reactor, proxied=True)
    if settings.direct:
        yield listener(settings.direct.description, direct, reactor)
    if settings.ftp:
        check, ports, address = check_with(parts.accounts), settings.ftp_ports, settings.ftp_address
        webcams = WebcamFactory(check, parts.pictures, reactor, ports, address)
        yield listener(settings.ftp.description, webcams, reactor)
    yield listener(settings.metrics.description, MetricsSite(parts.metrics.registry, parts.purger), reactor)


def build(settings: Settings, reactor: Any) -> OrderedShutdown:
    """Return the server's service; raise StartError."""
    parts = Parts(settings, reactor)
    services = OrderedShutdown()
    for service in (
        *listeners(settings, parts, reactor),
        parts.metrics,
        TimerService(HEARTBEAT, parts.connections.beat),
        TimerService(SWEEP, parts.connections.sweep),
        ConnectionCloser(parts.connections),
        parts.speaker,
        parts.purger,
        parts.state,  # last, so that every chat line received until then is written to disk
    ):
        services.addService(service)
    return services


def check_with(accounts: Accounts) -> Check:
    """Return the webcam listener's password check; it shares the login page's limit on wrong passwords."""

    async def check(name: str, password: str, address: str) -> Player | None:
        try:
            account = await accounts.check(name, password, address)
        except TooManyFailures as error:
            raise Rejected(str(error)) from error
        except (TooManyWaiting, Busy) as error:
            raise Rejected("too many passwords wait to be checked: try again") from error
        return account.player if account else None

    return check


def writable(folder: Path) -> None:
    """Create a folder if it is missing; raise OSError with its name if it is not writable."""
    folder.mkdir(parents=True, exist_ok=True)
    probe = folder / ".writable"
    probe.touch()
    probe.unlink()


def serve(settings: Settings) -> int:
    """Run until SIGTERM or SIGINT; return the exit status."""
    from twisted.internet import reactor  # importing the reactor installs it

    sys.setswitchinterval(SWITCH_INTERVAL)
    start_logging(settings.traces)
    raise_file_limit(settings.connections)
    try:
        data_lock = DataLock(settings.data)
        settle(settings.data)
        services = build(settings, reactor)
        services.addService(data_lock)
        services.startService()
    except (StartError, InUseError, CannotListenError, OSError) as error:  # such as a folder in use
        print(f"upstage: {error}", file=sys.stderr)
        return 1
    fields = {
        "version": __version__,
        "web": settings.web.description,
        "stage": settings.stage.description,
        "sockets": str(settings.sockets.prefix) if settings.sockets else None,
    }
    reactor.callWhenRunning(lambda: log.info("ready", fields=fields))  # only now is a SIGTERM handled
    reactor.addSystemEventTrigger("before", "shutdown", services.stopService)
    reactor.run()
    return 0


def raise_file_limit(connections: int) -> None:
    """Raise the limit of open files to the hard limit: each client needs one."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if hard < connections:
        log.warn(
            "fewer files can be open (ulimit -n) than UPSTAGE_CONNECTIONS allows",
            fields={"files": hard, "connections": connections},
        )
