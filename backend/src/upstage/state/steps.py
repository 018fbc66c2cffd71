"""Records for a request's log line what the request has waited for in this server: its turn, the database."""

import time
from contextvars import ContextVar
from typing import Any, TypeVar

from twisted.internet.defer import Deferred

T = TypeVar("T")
SHORTEST = 0.001  # seconds: a shorter wait is not logged

# The steps of the request whose code is running; None in code that no request began.
current: ContextVar["Steps | None"] = ContextVar("steps", default=None)


class Steps(dict[str, list[float]]):
    """Maps each step to its beginning and end, in milliseconds after `began` (of time.monotonic). A repeated
    step lasts from its first beginning to its last end.
    """

    def __init__(self, began: float) -> None:
        self._began = began

    def add(self, name: str, start: float) -> None:
        """Add a step that ends now; it began at `start`."""
        end = time.monotonic()
        if end - start >= SHORTEST:
            first, last = (round((at - self._began) * 1000, 1) for at in (start, end))
            self[name] = [min(first, self.get(name, [first])[0]), last]

    def wait(self, name: str, event: Deferred[Any]) -> None:
        """Add a step that lasts from now until the event."""
        start = time.monotonic()

        def ended(result: T) -> T:
            self.add(name, start)
            return result

        event.addBoth(ended)
