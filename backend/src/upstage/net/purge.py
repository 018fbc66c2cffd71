"""Purges of the cache in front when a file changes: `PURGE /` with the file's tag.

All responses for a file carry its tag: the file itself, its thumbnail, a webcam's still. Each purge is
repeated a moment later: a response with the old content may have been on its way to the cache during the
purge, and have been stored after it.
"""

import re
from collections import Counter
from typing import Any

from twisted.application.service import Service
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger
from twisted.web.client import Agent, readBody
from twisted.web.http_headers import Headers

TIMEOUT = 1.0  # seconds for one attempt: the player who changed the file is waiting
AGAIN = 0.5  # seconds until a purge is repeated
RETRY = 5.0  # seconds until a failed purge is retried
MAX_QUEUE = 1000  # tags to be repeated; above that the oldest are lost
MAX_TAG = 64  # characters, see varnish/purge.vcl
STOP_TIME = 1.5  # seconds for queued purges when the server stops

ALL_MEDIA = "media"  # a tag of every medium

log = Logger()


def tag_of(file: str) -> str:
    """Return the tag of a medium, a word that Varnish accepts: `medium-audio-bell-mp3` for audio/bell.mp3.

    Two files may share a tag: then a change of one purges both.
    """
    return ("medium-" + re.sub(r"[^A-Za-z0-9_-]", "-", file))[:MAX_TAG]


class Purger(Service):
    """Purges one cache; `address` is its host and port, None without a cache."""

    def __init__(self, reactor: Any, address: tuple[str, int] | None, timeout: float = TIMEOUT) -> None:
        self._reactor = reactor
        self._address = address
        self._timeout = timeout
        self._agent = Agent(reactor, connectTimeout=timeout)
        self._due: dict[str, float] = {}  # tags to be repeated, and when; the next one first
        self._pause = 0.0  # no purge is sent before this time, after a failed one
        self._timer: IDelayedCall | None = None
        self._asking = False
        self.outcomes = Counter(purged=0, failed=0, lost=0)

    @property
    def queued(self) -> int:
        """The number of purges to be repeated."""
        return len(self._due)

    async def purge(self, tag: str) -> bool:
        """Purge all responses with `tag`; return whether one of two attempts succeeded.

        A failed purge is retried until it succeeds.
        """
        if self._address is None:
            return True
        done = await self._tell(tag) or await self._tell(tag)
        self._due.pop(tag, None)  # it moves to the end
        self._due[tag] = self._reactor.seconds() + AGAIN
        if len(self._due) > MAX_QUEUE:
            self._lose(next(iter(self._due)))
        self._wait()
        return done

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
            asked = Deferred.fromCoroutine(self._ask(tag)).addTimeout(self._timeout, self._reactor)
            problem: object = await asked
        except Exception as error:  # any error means: not purged
            problem = repr(error)
        else:
            if problem in range(200, 300):
                self.outcomes["purged"] += 1
                return True
        self.outcomes["failed"] += 1
        log.warn("the cache did not purge", fields={"tag": tag, "problem": problem})
        return False

    async def _ask(self, tag: str) -> int:
        host, port = self._address or ("", 0)
        name = f"[{host}]" if ":" in host else host
        headers = Headers({"X-Tag": [tag]})
        response = await self._agent.request(b"PURGE", f"http://{name}:{port}/".encode(), headers)
        await readBody(response)  # the connection closes only when the body has been read
        return int(response.code)
