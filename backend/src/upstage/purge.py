"""Telling the cache in front that a file has changed: `PURGE /media/x.png`, and what it says to that."""

from typing import Any

from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.web.client import Agent, readBody

TIMEOUT = 1.0  # seconds for one try: a maker is waiting
TRIES = 2

log = Logger()


class Purger:
    """Purges one cache; `address` is its host and port, None where there is no cache in front."""

    def __init__(self, reactor: Any, address: tuple[str, int] | None, timeout: float = TIMEOUT) -> None:
        self._reactor = reactor
        self._address = address
        self._timeout = timeout
        self._agent = Agent(reactor, connectTimeout=timeout)

    async def purge(self, url: str) -> bool:
        """Drop the path `url` on every host; tell whether the cache has done it."""
        if self._address is None:
            return True
        problem: object = None
        for _ in range(TRIES):
            try:
                status = await Deferred.fromCoroutine(self._ask(url)).addTimeout(self._timeout, self._reactor)
            except Exception as error:  # whatever is wrong between here and there, it is not purged
                problem = error
            else:
                if 200 <= status < 300:
                    return True
                problem = status
        log.warn("a file was not purged", fields={"url": url, "problem": repr(problem)})
        return False

    async def _ask(self, url: str) -> int:
        host, port = self._address or ("", 0)
        name = f"[{host}]" if ":" in host else host
        response = await self._agent.request(b"PURGE", f"http://{name}:{port}{url}".encode())
        await readBody(response)  # the connection is closed when it has been read, not before
        return int(response.code)
