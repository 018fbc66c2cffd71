"""Purges of the caches in front when a file changes: `PURGE /` with the file's tag.

All responses for a file carry its tag: the file itself, its thumbnail, a webcam's still. Each purge is
repeated a moment later: a response with the old content may have been on its way to the cache during the
purge, and have been stored after it.

A host name may stand for several caches. Each of its addresses has to accept a purge, and one that comes
back after an absence gets the purges that it has missed.
"""

import re
from collections import Counter
from socket import SOCK_STREAM, getaddrinfo
from typing import Any

from twisted.application.service import Service
from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.interfaces import IDelayedCall
from twisted.internet.threads import deferToThreadPool
from twisted.logger import Logger
from twisted.web.client import Agent, readBody
from twisted.web.http_headers import Headers

TIMEOUT = 1.0  # seconds for one attempt: the player who changed the file is waiting
AGAIN = 0.5  # seconds until a purge is repeated
RETRY = 5.0  # seconds until a failed purge is retried
MAX_QUEUE = 1000  # tags to be repeated; above that the oldest are lost
MAX_TAG = 64  # characters, see varnish/purge.vcl
STOP_TIME = 1.5  # seconds for queued purges when the server stops
LOOK_UP = 0.5  # seconds between two looks at which caches there are, while a purge is recent
REMEMBER = 600.0  # seconds that a cache may be absent and still get its purges

ALL_MEDIA = "media"  # a tag of every medium

log = Logger()


def tag_of(file: str) -> str:
    """Return the tag of a medium, a word that Varnish accepts: `medium-audio-bell-mp3` for audio/bell.mp3.

    Two files may share a tag: then a change of one purges both.
    """
    return ("medium-" + re.sub(r"[^A-Za-z0-9_-]", "-", file))[:MAX_TAG]


class CachePurger(Service):
    """Purges one cache; `outcomes` counts what became of each purge."""

    def __init__(self, reactor: Any, host: str, port: int, outcomes: Counter[str]) -> None:
        self._reactor = reactor
        self._url = f"http://{f'[{host}]' if ':' in host else host}:{port}/".encode()
        self._agent = Agent(reactor, connectTimeout=TIMEOUT)
        self._due: dict[str, float] = {}  # tags to be repeated, and when; the next one first
        self._pause = 0.0  # no purge is sent before this time, after a failed one
        self._timer: IDelayedCall | None = None
        self._asking = False
        self.outcomes = outcomes

    @property
    def queued(self) -> int:
        """The number of purges to be repeated."""
        return len(self._due)

    async def purge(self, tag: str) -> bool:
        """Purge all responses with `tag`; return whether one of two attempts succeeded.

        A failed purge is retried until it succeeds.
        """
        done = await self._tell(tag) or await self._tell(tag)
        self.purge_later(tag, AGAIN)
        return done

    def purge_later(self, tag: str, delay: float) -> None:
        """Purge all responses with `tag` in so many seconds, and until it succeeds."""
        self._due.pop(tag, None)  # it moves to the end
        self._due[tag] = self._reactor.seconds() + delay
        if len(self._due) > MAX_QUEUE:
            self._lose(next(iter(self._due)))
        self._wait()

    def forget(self) -> None:
        """The cache is gone: repeat no purge."""
        super().stopService()
        self._due.clear()
        if self._timer and self._timer.active():
            self._timer.cancel()

    def stopService(self) -> Deferred[None]:
        """Send the queued purges; fires when that is done."""
        super().stopService()
        if self._timer and self._timer.active():
            self._timer.cancel()

        async def finish() -> None:
            deadline = self._reactor.seconds() + STOP_TIME
            for tag in list(self._due):
                if self._reactor.seconds() > deadline or not await self._tell(tag):
                    break
                self._due.pop(tag, None)
            for tag in list(self._due):
                self._lose(tag)

        return Deferred.fromCoroutine(finish())

    def _wait(self) -> None:
        """Schedule the next purge for when it is due; one at a time."""
        if self.running and self._due and not self._asking and not (self._timer and self._timer.active()):
            when = max(next(iter(self._due.values())), self._pause) - self._reactor.seconds()
            self._timer = self._reactor.callLater(max(when, 0), self._repeat)

    def _repeat(self) -> None:
        tag, due = next(iter(self._due.items()))
        if due > self._reactor.seconds():  # it has been purged again since then, which set a new time
            self._wait()
            return

        def told(done: bool) -> None:
            self._asking = False
            if not done:
                self._pause = self._reactor.seconds() + RETRY
            elif self._due.get(tag) == due:
                del self._due[tag]
            self._wait()

        self._asking = True
        Deferred.fromCoroutine(self._tell(tag)).addCallback(told)

    def _lose(self, tag: str) -> None:
        del self._due[tag]
        self.outcomes["lost"] += 1
        log.warn("a purge was lost: the cache may serve an old file", fields={"tag": tag})

    async def _tell(self, tag: str) -> bool:
        """Send one purge; return whether the cache accepted it."""
        try:
            asked = Deferred.fromCoroutine(self._ask(tag)).addTimeout(TIMEOUT, self._reactor)
            problem: object = await asked
        except Exception as error:  # any error means: not purged
            problem = repr(error)
        else:
            if problem in range(200, 300):
                self.outcomes["purged"] += 1
                return True
        self.outcomes["failed"] += 1
        log.warn("a cache did not purge", fields={"tag": tag, "cache": self._url, "problem": problem})
        return False

    async def _ask(self, tag: str) -> int:
        response = await self._agent.request(b"PURGE", self._url, Headers({"X-Tag": [tag]}))
        await readBody(response)  # the connection closes only when the body has been read
        return int(response.code)


class Purger(Service):
    """Purges every cache that `address` stands for, a host and a port; None without a cache."""

    def __init__(self, reactor: Any, address: tuple[str, int] | None) -> None:
        self._reactor = reactor
        self._address = address
        self._caches: dict[str, CachePurger] = {}
        # Purged tags and when, for caches that are absent; the oldest first.
        self._recent: dict[str, float] = {}
        self._timer: IDelayedCall | None = None
        self.outcomes = Counter(purged=0, failed=0, lost=0)

    @property
    def queued(self) -> int:
        """The number of purges to be repeated, of all caches."""
        return sum(cache.queued for cache in self._caches.values())

    async def purge(self, tag: str) -> bool:
        """Purge all responses with `tag` from every cache; return whether all of them have done it."""
        if self._address is None:
            return True
        await self._find_caches()
        self._recent.pop(tag, None)  # it moves to the end
        self._recent[tag] = self._reactor.seconds()
        if len(self._recent) > MAX_QUEUE:
            del self._recent[next(iter(self._recent))]
        if self.running and not (self._timer and self._timer.active()):
            self._timer = self._reactor.callLater(LOOK_UP, self._look_again)
        if not self._caches:
            self.outcomes["failed"] += 1
            log.warn("no cache was found to purge", fields={"tag": tag, "host": self._address[0]})
            return False
        purges: list[Deferred[object]] = [
            Deferred.fromCoroutine(cache.purge(tag)) for cache in self._caches.values()
        ]
        return all(await gatherResults(purges))

    def stopService(self) -> Deferred[Any]:
        """Send the queued purges; fires when that is done."""
        super().stopService()
        if self._timer and self._timer.active():
            self._timer.cancel()
        return gatherResults([cache.stopService() for cache in self._caches.values()])

    async def _find_caches(self) -> None:
        """Look the name up. An address that is new, or back, gets the purges of the last ten minutes."""
        assert self._address
        host, port = self._address
        found = await self._look_up(host, port)
        if not found:  # no answer, or no cache is ready: it may still be the same one in a moment
            return
        for gone in self._caches.keys() - found:
            self._caches.pop(gone).forget()
        for new in found - self._caches.keys():
            cache = self._caches[new] = self._purger_of(new, port)
            cache.startService()
            for tag in self._recent:
                cache.purge_later(tag, 0)

    def _look_again(self) -> None:
        """While a purge is recent: the cache that missed it may come back."""
        oldest = self._reactor.seconds() - REMEMBER
        self._recent = {tag: when for tag, when in self._recent.items() if when > oldest}

        def again(_: object) -> None:
            if self.running and self._recent:
                self._timer = self._reactor.callLater(LOOK_UP, self._look_again)

        Deferred.fromCoroutine(self._find_caches()).addCallback(again)

    def _purger_of(self, address: str, port: int) -> CachePurger:
        return CachePurger(self._reactor, address, port, self.outcomes)

    async def _look_up(self, host: str, port: int) -> set[str]:
        """The addresses of a host; none if the name is unknown, or the resolver silent for a second."""
        pool = self._reactor.getThreadPool()
        answer = deferToThreadPool(self._reactor, pool, getaddrinfo, host, port, type=SOCK_STREAM)
        try:
            return {str(address[0]) for *_, address in await answer.addTimeout(TIMEOUT, self._reactor)}
        except (OSError, TimeoutError):
            return set()
