"""A brake on guessing passwords: wrong ones are counted, right ones are not. Pure.

Three counts: of an account from one address, of an address, and of an account from everywhere. A guess that
is still being judged takes a place as a wrong one would, and gives it back if it was right: so a thousand
guesses sent at once get no further than a few, and a class that signs in at once is never refused.
"""

import math
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from twisted.internet.defer import Deferred

HERE = (10, 60.0)  # wrong passwords for one account from one address, in so many seconds
ADDRESS = (60, 60.0)  # from one address: a class of thirty, each of whom is wrong twice
# For one account from everywhere, except from where its owner has signed in before: a client that guesses
# from many addresses must not lock the owner out.
EVERYWHERE = (100, 3600.0)
REMEMBERED = 10_000  # entries of each table: the oldest goes
MAX_WAITING = 100  # guesses that wait for others to be judged
MAX_NAME = 64  # characters of a name that are looked at


class TooManyFailures(Exception):
    """Too many passwords were wrong; `seconds` says when the next one will be looked at."""

    def __init__(self, seconds: float) -> None:
        self.seconds = math.ceil(seconds)
        super().__init__(f"too many wrong passwords: try again in {self.seconds} s")


class TooManyWaiting(Exception):
    """Too many passwords wait to be judged."""


@dataclass
class Tally:
    """Failures of late, oldest first, each with the account it was for; and what is being judged."""

    most: int
    window: float
    failures: deque[tuple[float, str]] = field(default_factory=deque)
    judging: int = 0
    waiting: deque[Deferred[None]] = field(default_factory=deque)

    def locked(self, now: float) -> float:
        """Return for how many seconds nothing more is judged, 0 if it is."""
        while self.failures and self.failures[0][0] <= now - self.window:
            self.failures.popleft()
        return self.failures[0][0] + self.window - now if len(self.failures) >= self.most else 0.0

    @property
    def is_full(self) -> bool:
        """Whether there would be too many failures if all that is being judged was wrong."""
        return len(self.failures) + self.judging >= self.most

    def forgive(self, name: str) -> None:
        """Forget the failures of one account."""
        self.failures = deque(failure for failure in self.failures if failure[1] != name)

    def done(self) -> None:
        """One has been judged: all who wait look again."""
        self.judging -= 1
        waiting, self.waiting = self.waiting, deque()
        for ready in waiting:
            ready.callback(None)


class Table:
    """Tallies by key: no more than REMEMBERED."""

    def __init__(self, most: int, window: float) -> None:
        self._most = most
        self._window = window
        self._tallies: OrderedDict[tuple[str, ...], Tally] = OrderedDict()

    def __len__(self) -> int:
        return len(self._tallies)

    def tally(self, *key: str) -> Tally:
        """Return the tally of a key, a new one if need be."""
        tally = self._tallies.setdefault(key, Tally(self._most, self._window))
        self._tallies.move_to_end(key)
        if len(self._tallies) > REMEMBERED:
            self._tallies.popitem(last=False)
        return tally


class Guessing:
    """All passwords that are tried, over whatever door."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._here = Table(*HERE)
        self._addresses = Table(*ADDRESS)
        self._everywhere = Table(*EVERYWHERE)
        # Name and address, of right passwords.
        self._owners: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._waiting = 0

    async def judge(self, name: str, address: str, is_right: Callable[[], Awaitable[bool]]) -> bool:
        """Return what `is_right` returns; raise TooManyFailures or TooManyWaiting without having asked."""
        name = name[:MAX_NAME].lower()
        here, there = self._here.tally(name, address), self._addresses.tally(address)
        tallies = [here, there]
        if (name, address) not in self._owners:
            tallies.append(self._everywhere.tally(name))
        await self._place(tallies)
        for tally in tallies:
            tally.judging += 1
        try:
            right = await is_right()
            if right:
                here.forgive(name)
                there.forgive(name)
                self._owners[name, address] = None
                if len(self._owners) > REMEMBERED:
                    self._owners.popitem(last=False)
            else:
                for tally in tallies:
                    tally.failures.append((self._clock(), name))
        finally:
            for tally in tallies:
                tally.done()
        return right

    async def _place(self, tallies: list[Tally]) -> None:
        """Wait until one more may be judged."""
        while True:
            if seconds := max(tally.locked(self._clock()) for tally in tallies):
                raise TooManyFailures(seconds)
            full = next((tally for tally in tallies if tally.is_full), None)
            if full is None:
                return
            if self._waiting >= MAX_WAITING:
                raise TooManyWaiting
            self._waiting += 1
            ready: Deferred[None] = Deferred()
            full.waiting.append(ready)
            try:
                await ready
            finally:
                self._waiting -= 1
