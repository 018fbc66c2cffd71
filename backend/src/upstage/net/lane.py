"""A few places for many requests: the others wait for a moment, and clients take turns."""

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass

from twisted.internet.interfaces import IDelayedCall, IReactorTime

WAITING = 100  # requests of all clients; each waits in two of Varnish's threads
PATIENCE = 0.8  # seconds; Varnish then asks once more, and nginx waits for 2 s, long enough for both


@dataclass(eq=False)
class Waiting:
    """A waiting request: the functions to call when it gets a place, or none."""

    begin: Callable[[], None]
    refuse: Callable[[], None]
    end: IDelayedCall


class Lane:
    """At most `places` requests are in progress at a time; 0: no limit.

    If more than WAITING requests wait, the client with the most of them loses its newest one.
    """

    def __init__(self, reactor: IReactorTime, places: int) -> None:
        self._reactor = reactor
        self._places = places
        self._taken = 0
        self._queues: dict[str, deque[Waiting]] = {}  # no queue is empty; the first has the next turn
        self.outcomes = Counter(waited=0, refused=0)

    def __len__(self) -> int:
        """The number of requests that wait."""
        return sum(map(len, self._queues.values()))

    def enter(self, client: str, begin: Callable[[], None], refuse: Callable[[], None]) -> None:
        """Call `begin` when there is a place, which `leave` gives back; call `refuse` after PATIENCE seconds,
        or when too many wait.
        """
        if not self._places or self._taken < self._places:
            self._taken += 1
            begin()
            return
        self.outcomes["waited"] += 1
        waiting = Waiting(
            begin, refuse, self._reactor.callLater(PATIENCE, lambda: self._end(client, waiting))
        )
        self._queues.setdefault(client, deque()).append(waiting)
        if len(self) > WAITING:
            most = max(self._queues, key=lambda name: len(self._queues[name]))
            self._end(most, self._queues[most][-1])

    def leave(self) -> None:
        """Give a place back: the next client's oldest request gets it."""
        self._taken -= 1
        if self._queues and self._taken < self._places:
            client = next(iter(self._queues))
            queue = self._queues.pop(client)
            waiting = queue.popleft()
            if queue:
                self._queues[client] = queue
            self._taken += 1
            waiting.end.cancel()
            waiting.begin()

    def _end(self, client: str, waiting: Waiting) -> None:
        self._queues[client].remove(waiting)
        if not self._queues[client]:
            del self._queues[client]
        if waiting.end.active():
            waiting.end.cancel()
        self.outcomes["refused"] += 1
        waiting.refuse()
