"""The service tree: builds every part of the server, starts it, and stops it without losing anything."""

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

from upstage import __version__
from upstage.log import start_logging
from upstage.media.files import sweep
from upstage.media.speech import Speaker
from upstage.mirror.active import Active, start_again
from upstage.mirror.copying import run_alone
from upstage.mirror.standby import Standby
from upstage.net.connection import HEARTBEAT, SWEEP, Connections
from upstage.net.listening import UnixListener
from upstage.net.metrics import MeasuredStages, Metrics, MetricsSite, Sources
from upstage.net.purge import ALL_MEDIA, Purge, Purger
from upstage.net.sockets import StageSocketFactory
from upstage.net.webcam import Check, Pictures, Rejected, WebcamFactory
from upstage.settings import Settings
from upstage.stage.players import Player
from upstage.state.accounts import Accounts
from upstage.state.admin_password import keep_password
from upstage.state.damage import find_damage
from upstage.state.database import FILE, Database
from upstage.state.guessing import TooManyFailures, TooManyWaiting
from upstage.state.live import LiveState
from upstage.state.load_account import keep_load_account
from upstage.state.passwords import HASHER, Busy, Passwords
from upstage.state.progress import read_progress
from upstage.state.records import RecordError
from upstage.state.seed import ContentError, seed
from upstage.state.store import Store
from upstage.state.turn import Turn
from upstage.web.admin import SiteContext
from upstage.web.lessons import read_lessons
from upstage.web.place import Published
from upstage.web.tree import build_site
from upstage.web.webcam import Frames

COUNTS_PAUSE = 0.05  # seconds between two JOINED frames, however many clients come and go
STOP_TIME = 3.0  # seconds that clients have to read their last frames when the server stops
# Seconds until a busy reactor gives up Python's lock to the thread that writes the chat; Python's own value,
# 5 ms, would delay every chat line.
SWITCH_INTERVAL = 0.0005

log = Logger()


class StartError(Exception):
    """The server cannot start; the message tells the operator why."""


class ConnectionCloser(Service):
    """Closes the connections of all stage clients when the server stops."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def stopService(self) -> Deferred[None]:
        """Fires when all are closed, at the latest after STOP_TIME."""
        super().stopService()
        return Deferred.fromCoroutine(self._connections.close(STOP_TIME))


class InTurn(MultiService):
    """Stops its services one after another, in the order in which they were added."""

    def stopService(self) -> Deferred[None]:
        """Fires when the last of them has stopped."""
        Service.stopService(self)

        async def stop() -> None:
            for service in list(self):
                await maybeDeferred(service.stopService)

        return Deferred.fromCoroutine(stop())


def build(settings: Settings, reactor: Any, complete: bool) -> InTurn:  # a reactor is many interfaces at once
    """Prepare the folders and the database and return the server's service; raise StartError.

    A server of a pair replaces the sockets of the other one. Unless its data are `complete`, the cache may
    have newer media, which are purged.
    """
    published = Published(
        settings.http_port, settings.https_port, settings.locust_port, settings.web_port, settings.theatres
    )
    try:
        writable(settings.data)
        writable(settings.media)
        writable(settings.data / "speech")
        writable(settings.media / "video")
        sweep(settings.media)
        if problem := find_damage(settings.data):
            raise StartError(
                f"{settings.data / FILE} is damaged ({problem}). To keep it under another name and start "
                "with an empty one, type: docker compose run --rm --no-deps backend upstage set-aside. "
                "docs/operations.md says what can be saved."
            )
        has_vanished = not (settings.data / FILE).exists() and any(settings.media.glob("[!.]*.*"))
        database = Database(settings.data)
        if has_vanished:
            log.warn(
                "there was no database, though there are media: accounts, stages and chat start over",
                fields={"made": str(settings.data / FILE), "media": str(settings.media)},
            )
        seed(settings.content, settings.media, database, () if settings.festival else ("festival",))
        password = settings.admin_password or keep_password(settings.data)
        if settings.load_account:
            keep_load_account(database, settings.load_account)
        lessons = read_lessons(settings.lessons, published)
    except (ContentError, RecordError, OSError, sqlite3.Error) as error:
        raise StartError(str(error)) from error
    speaker = Speaker(settings.data / "speech", reactor)
    store, passwords = Store(database, reactor), Passwords(reactor)
    later = partial(reactor.callLater, COUNTS_PAUSE)
    stages = MeasuredStages(keep=store.keep, speak=speaker.speak, later=later)
    accounts = Accounts(HASHER.hash(password), passwords.matches)
    state = LiveState(database, store, passwords, stages, accounts, reactor)
    purger = Purger(reactor, settings.caches)
    context = SiteContext(
        stages=stages,
        accounts=accounts,
        passwords=passwords,
        state=state,
        purger=purger,
        media=settings.media,
        signup=settings.signup,
    )
    connections = Connections(stages, reactor, settings.max_unread, settings.connections_per_address)
    frames = Frames(settings.media / "video", reactor)
    pictures = Pictures(settings.media / "video", arrived=state.add_webcam)
    site = build_site(
        connections,
        context,
        speaker,
        frames,
        settings.site,
        settings.web.port,
        published,
        lessons,
        partial(read_progress, settings.data),
    )
    direct = site.without_proxy(settings.web_port or settings.web.port)
    sources = Sources(
        connections,
        queues={
            "speech": lambda: speaker.queued,
            "chat": lambda: store.queued,
            "passwords": lambda: passwords.queued,
            "purges": lambda: purger.queued,
            "turns": lambda: len(connections.shared.turns),
        },
        long_polls={"speech": lambda: speaker.waiting, "webcam": lambda: frames.waiting},
        outcomes={
            "chat_lines": store.outcomes,
            "utterances": speaker.outcomes,
            "webcam_pictures": pictures.outcomes,
            "purges": purger.outcomes,
        },
    )
    metrics = Metrics(sources, stages, reactor)
    if not complete:
        reactor.callWhenRunning(lambda: Deferred.fromCoroutine(purger.purge(Purge(ALL_MEDIA))))
    replace = settings.pair is not None
    services = InTurn()
    services.addService(listener(settings.web.description, site, reactor))
    services.addService(listener(settings.stage.description, StageSocketFactory(connections), reactor))
    if settings.sockets:
        stage_sockets = StageSocketFactory(connections)
        services.addService(UnixListener(settings.sockets.web, site, reactor, replace=replace))
        services.addService(
            UnixListener(settings.sockets.stage, stage_sockets, reactor, proxied=True, replace=replace)
        )
        services.addService(
            UnixListener(settings.sockets.direct, direct, reactor, proxied=True, replace=replace)
        )
    if settings.direct:
        services.addService(listener(settings.direct.description, direct, reactor))
    if settings.ftp:
        webcams = WebcamFactory(
            check_with(accounts), pictures, reactor, settings.ftp_ports, settings.ftp_address
        )
        services.addService(listener(settings.ftp.description, webcams, reactor))
    services.addService(
        listener(settings.metrics.description, MetricsSite(metrics.registry, purger), reactor)
    )
    services.addService(metrics)
    services.addService(TimerService(HEARTBEAT, connections.beat))
    services.addService(TimerService(SWEEP, connections.sweep))
    services.addService(ConnectionCloser(connections))
    services.addService(speaker)
    services.addService(purger)
    services.addService(state)  # at the end, so that every chat line received until then is written to disk
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
    """Run until SIGTERM or SIGINT; return the exit status. A server of a pair stands by until its turn."""
    from twisted.internet import reactor  # importing it installs it

    raise_file_limit()
    sys.setswitchinterval(SWITCH_INTERVAL)
    start_logging()
    active: Active | None = None
    try:
        turn = Turn(settings.data)
        complete = True
        if settings.pair:
            standby = Standby(settings)
            complete = standby.wait()
            active = Active(standby.control, settings.pair.place, reactor)
        else:
            run_alone(settings.data)
        services = build(settings, reactor, complete)
        services.addService(turn)
        if active:
            services.addService(active)
        services.startService()
    except (StartError, CannotListenError, OSError) as error:  # such as a folder in use
        print(f"upstage: {error}", file=sys.stderr)
        return 1
    log.info(
        "ready",
        fields={
            "version": __version__,
            "web": settings.web.description,
            "stage": settings.stage.description,
            "sockets": str(settings.sockets.prefix) if settings.sockets else None,
        },
    )
    reactor.addSystemEventTrigger("before", "shutdown", services.stopService)
    reactor.run()
    if active and active.handed_over:
        start_again()
    return 0


def raise_file_limit() -> None:
    """Raise the limit of open files to the hard limit: each client takes one."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
