"""Purges of the caches in front when a file changes: `PURGE /` with the file's tag.

All responses for a file carry its tag: the file itself, its thumbnail, a webcam's still. Each purge of a file
is repeated a moment later: a response with the old content may have been on its way to the cache during the
first one, and have been stored after it.

A cache that is new, or has missed a purge, may have copies of files that have changed since: it first drops
all copies.
"""

import json
import re
from collections import Counter
from collections.abc import Collection, Coroutine, Iterable
from pathlib import Path
from socket import AF_INET, AF_INET6, SOCK_STREAM, getaddrinfo
from typing import Any, NamedTuple, TypeVar

from twisted.application.service import MultiService, Service
from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.interfaces import IDelayedCall
from twisted.internet.threads import deferToThread
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.web.client import Agent, ResponseFailed, readBody
from twisted.web.http import Request
from twisted.web.http_headers import Headers
from twisted.web.resource import NoResource, Resource
from twisted.web.server import NOT_DONE_YET

from upstage.net.health import name_of

TIMEOUT = 1.0  # seconds for one attempt: the player who changed the file is waiting
AGAIN = 0.5  # seconds until a purge is repeated
RETRY = 1.0  # seconds until a failed purge is retried; until then a cache that comes back may serve old files
MAX_QUEUE = 1000  # purges to be repeated for a cache; beyond that the oldest are lost
TOLD = "purged-caches.json"  # the file of `Told`, in the data folder
MAX_TAG = 64  # characters
STOP_TIME = 1.5  # seconds for queued purges when the server stops

log = Logger()

T = TypeVar("T")


class Purge(NamedTuple):
    """The objects that a cache must drop: those with a tag, or with a path, for every host and query."""

    tag: str = ""
    path: str = "/"

    @property
    def is_valid(self) -> bool:
        """Whether tag and path are safe as parts of an expression (starter/varnish/purge.vcl)."""
        tag = re.fullmatch(f"[0-9A-Za-z_:-]{{0,{MAX_TAG}}}", self.tag)
        return bool(tag and re.fullmatch(r"/[!#-~]*", self.path))


ALL_MEDIA = "media"  # a tag of each medium
ALL_LESSONS = "lessons"  # a tag of each page of the lessons
EVERYTHING = (Purge(ALL_MEDIA), Purge(ALL_LESSONS))  # all objects that a cache keeps for long


def tag_of(file: str) -> str:
    """Return the tag of a medium, a word that Varnish accepts: `medium-audio-bell-mp3` for audio/bell.mp3.

    Two files may have the same tag: then a change of one purges both.
    """
    return ("medium-" + re.sub(r"[^A-Za-z0-9_-]", "-", file))[:MAX_TAG]


class Told:
    """Keeps in a file which caches know of every change: the server's next start purges all others.

    `caches` are the labels of all present caches. Without the file, all count as purged: the data are new.
    """

    def __init__(self, file: Path, caches: Iterable[str]) -> None:
        self._file = file
        self._told = set(caches)
        try:
            self._told &= set(json.loads(file.read_text()))
        except FileNotFoundError:
            pass
        except ValueError:  # the file is incomplete: the disk was full
            self._told = set()
        self._write()

    def __contains__(self, cache: str) -> bool:
        return cache in self._told

    def set(self, cache: str, told: bool) -> None:
        """Note that a cache has missed a change, or knows of all changes."""
        if told == (cache in self._told):
            return
        (self._told.add if told else self._told.remove)(cache)
        self._write()

    def _write(self) -> None:
        """Write the labels, some hundred bytes; called when a cache has been lost, or has come back."""
        part = self._file.with_suffix(".part")
        try:
            part.write_text(json.dumps(sorted(self._told)))
            part.replace(self._file)
        except OSError as error:
            log.warn("cannot note which caches have been purged", fields={"problem": str(error)})


class Cache(Service):
    """The purges of one address: a failed purge is repeated until it succeeds.

    A host name may stand for several caches: a purge succeeds when all of them have accepted it. A cache that
    the name no longer lists need not be purged, because it comes back empty.
    """

    def __init__(self, reactor: Any, address: tuple[str, int], outcomes: Counter[str], told: Told) -> None:
        self._reactor = reactor
        self._host, self._port = address
        self._label = name_of(address)
        self._outcomes = outcomes
        self._told = told
        self._agent = Agent(reactor, connectTimeout=TIMEOUT)
        self._lookups: list[Deferred[list[str]]] = []  # all callers wait for one lookup, in one thread
        self._due: dict[Purge, float] = {}  # purges to be repeated, and when; the next one first
        self._pause = 0.0  # after a failed purge, none is sent before this time
        self._timer: IDelayedCall | None = None
        self._asking = False
        self._problem = ""  # of the last attempt
        self._missed = False  # whether a purge has been lost

    @property
    def queued(self) -> int:
        """The number of purges to be repeated."""
        return len(self._due)

    async def purge(self, purge: Purge, again: bool = True) -> str:
        """Send a purge, twice if the first attempt fails; return why it was not accepted, "" if it was.

        A failed purge is repeated until it succeeds. With `again`, a successful one is repeated once.
        """
        problem = await self._tell(purge) and await self._tell(purge)
        if not (problem or again):
            self._settle()
            return problem
        self._due.pop(purge, None)  # so that it moves to the end
        self._due[purge] = self._reactor.seconds() + AGAIN
        if len(self._due) > MAX_QUEUE:
            self._lose(next(iter(self._due)))
        self._wait()
        return problem

    def startService(self) -> None:
        super().startService()
        if self._label not in self._told:
            self._start_over()

    def stopService(self) -> Deferred[None]:
        """Send the queued purges until one fails or STOP_TIME is over; fire when the others are noted as
        lost.
        """
        super().stopService()
        if self._timer and self._timer.active():
            self._timer.cancel()

        async def finish() -> None:
            deadline = self._reactor.seconds() + STOP_TIME
            for purge in list(self._due):
                if self._reactor.seconds() > deadline or await self._tell(purge):
                    break
                self._due.pop(purge, None)
            for purge in list(self._due):
                self._lose(purge)

        return Deferred.fromCoroutine(finish())

    def _wait(self) -> None:
        """Schedule the next purge for the time when it is due; one at a time."""
        if self.running and self._due and not self._asking and not (self._timer and self._timer.active()):
            when = max(next(iter(self._due.values())), self._pause) - self._reactor.seconds()
            self._timer = self._reactor.callLater(max(when, 0), self._repeat)

    def _repeat(self) -> None:
        purge, due = next(iter(self._due.items()))
        if due > self._reactor.seconds():  # the purge has been sent meanwhile, and has a new time
            self._wait()
            return

        def told(problem: str) -> None:
            self._asking = False
            if problem:
                self._pause = self._reactor.seconds() + RETRY
            elif self._due.get(purge) == due:
                del self._due[purge]
            self._settle()
            self._wait()

        self._asking = True
        Deferred.fromCoroutine(self._tell(purge)).addCallback(told)

    def _settle(self) -> None:
        """When no purge is queued, note that the cache knows of all changes; if one was lost, start over."""
        if not self._due and self._missed:
            self._start_over()
        elif not self._due:
            self._told.set(self._label, True)

    def _start_over(self) -> None:
        """Make the cache drop all its copies, as soon as it answers."""
        log.info("the cache has to drop everything", fields={"cache": self._label})
        self._missed = False
        self._due |= dict.fromkeys(EVERYTHING, self._reactor.seconds())
        self._wait()

    def _lose(self, purge: Purge) -> None:
        del self._due[purge]
        self._missed = True
        self._told.set(self._label, False)
        self._outcomes["lost"] += 1
        log.warn(
            "a purge was lost: the cache may serve an old file until it has dropped everything",
            fields={"cache": self._label, **purge._asdict()},
        )

    async def _tell(self, purge: Purge) -> str:
        """Send one purge to every cache behind the name; return the problems, "" if there are none."""
        problem, before = await self._ask(purge), self._problem
        self._problem = problem
        self._outcomes["failed" if problem else "purged"] += 1
        if problem:
            self._told.set(self._label, False)
        if problem and problem != before:  # log a failure once: it is retried every second
            log.warn("the cache did not purge", fields={**purge._asdict(), "problem": problem})
        if before and not problem:
            log.info("the cache purges again", fields={"cache": self._label})
        return problem

    async def _ask(self, purge: Purge) -> str:
        try:
            hosts = await self._in_time(self._look_up())
        except Exception as error:  # after any error, the cache counts as not purged
            return f"{self._label}: {reason(error)}"

        async def ask(host: str) -> str:
            name = self._label if len(hosts) == 1 else f"{self._label} ({host})"
            try:
                problem = await self._in_time(self._send(host, purge))
            except Exception as error:
                problem = reason(error)
            return problem and f"{name}: {problem}"

        return listed(await gatherResults([Deferred.fromCoroutine(ask(host)) for host in hosts]))

    def _in_time(self, asked: Coroutine[Any, Any, T]) -> Deferred[T]:
        # A cancelled Agent reports a lost connection, not the timeout.
        late = Failure(TimeoutError("no answer"))
        return Deferred.fromCoroutine(asked).addTimeout(TIMEOUT, self._reactor, lambda *_: late)

    async def _look_up(self) -> list[str]:
        """Return the host's addresses. A lookup takes a thread, so all callers share one."""
        found: Deferred[list[str]] = Deferred()
        self._lookups.append(found)
        if len(self._lookups) == 1:
            deferToThread(addresses, self._host).addBoth(self._found)
        return await found

    def _found(self, result: list[str] | Failure) -> None:
        waiting, self._lookups = self._lookups, []
        for found in waiting:
            found.callback(result)  # a Failure as the result makes it an error

    async def _send(self, host: str, purge: Purge) -> str:
        """Send one purge to one cache; return the status line, or "" if the cache has accepted it."""
        headers = Headers({"X-Cache-Tags": [purge.tag]} if purge.tag else {})
        url = f"http://{name_of((host, self._port))}{purge.path}"
        response = await self._agent.request(b"PURGE", url.encode(), headers)
        await readBody(response)  # the connection closes only when the body has been read
        return (
            "" if response.code in range(200, 300) else f"{response.code} {response.phrase.decode('latin-1')}"
        )


class Purger(MultiService):
    """Purges every cache in front; `caches` are host and port of each, empty if there is no cache. `file`
    records which of them know of every change.
    """

    def __init__(self, reactor: Any, caches: Collection[tuple[str, int]], file: Path) -> None:
        super().__init__()
        self.outcomes = Counter(purged=0, failed=0, lost=0)
        told = Told(file, map(name_of, caches))
        self.caches = [Cache(reactor, address, self.outcomes, told) for address in caches]
        for cache in self.caches:
            cache.setServiceParent(self)

    @property
    def queued(self) -> int:
        """The number of purges to be repeated."""
        return sum(cache.queued for cache in self.caches)

    async def purge(self, purge: Purge, again: bool = True) -> str:
        """Purge every cache, as Cache.purge does; return which ones have not accepted it, and why."""
        asked = [Deferred.fromCoroutine(cache.purge(purge, again)) for cache in self.caches]
        return listed(await gatherResults(asked))


class PurgePage(Resource):
    """Takes the PURGE of `upstage purge`, as a cache does, and passes it on to all of them."""

    def __init__(self, purger: Purger) -> None:
        super().__init__()
        self._purger = purger

    def getChild(self, path: bytes, request: Request) -> Resource:
        """Return this page for every path of a PURGE."""
        return self if request.method == b"PURGE" else NoResource()

    def render_PURGE(self, request: Request) -> int:
        """Answer 200 if every cache has accepted the purge, 503 naming the others, 400 if it is invalid."""
        purge = Purge(request.getHeader("x-cache-tags") or "", request.uri.decode("latin-1"))
        gone: list[object] = []
        request.notifyFinish().addErrback(gone.append)

        async def respond() -> None:
            status, problem = 400, f"this is neither a path nor a tag: {purge.tag or purge.path}"
            if purge.is_valid:
                problem = await self._purger.purge(purge, again=False)  # not repeated: no file has changed
                status = 503 if problem else 200
            if not gone:
                request.setResponseCode(status)
                request.setHeader("content-type", "text/plain; charset=utf-8")
                request.write(problem.encode())
                request.finish()

        Deferred.fromCoroutine(respond())
        return NOT_DONE_YET


def addresses(host: str) -> list[str]:
    """Return every address of a host name; raise OSError.

    All are of one family, so that a cache with addresses of both families is purged once.
    """
    family = AF_INET6 if ":" in host else AF_INET
    return sorted({str(found[4][0]) for found in getaddrinfo(host, None, family, SOCK_STREAM)})


def reason(error: Exception) -> str:
    """Return a short description of an error: many errors have no text of their own."""
    if isinstance(error, ResponseFailed):
        error = error.reasons[0].value
    return str(error) or type(error).__name__


def listed(problems: Iterable[str]) -> str:
    """Return the problems that are not empty, in one line."""
    return ", ".join(filter(None, problems))
