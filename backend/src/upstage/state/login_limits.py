"""Rate limits for wrong passwords. Right passwords are not counted.

There are three counts: for an account from one address, for an address, and for an account from everywhere. A
password that is still being checked counts as a wrong one until it turns out to be right: so of a thousand
guesses sent at once only a few are checked, and a class that signs in at once is never rejected.
"""

import math
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from twisted.internet.defer import Deferred

HERE = (10, 60.0)  # wrong passwords for one account from one address, within this many seconds
ADDRESS = (60, 60.0)  # wrong passwords from one address: a class of thirty with two each
# Wrong passwords for one account from everywhere, except from addresses where its owner has signed in: a
# client that guesses from many addresses must not lock the owner out.
EVERYWHERE = (100, 3600.0)
REMEMBERED = 10_000  # entries of each table; beyond that, the oldest entry is dropped
MAX_WAITING = 100  # passwords that wait for the results of others
MAX_NAME = 64  # characters of a name that are compared


class TooManyFailures(Exception):
    """Too many wrong passwords; the next one is checked after `seconds`."""

    def __init__(self, seconds: float) -> None:
        self.seconds = math.ceil(seconds)
        super().__init__(f"too many wrong passwords: try again in {self.seconds} s")


class TooManyWaiting(Exception):
    """Too many passwords wait to be checked."""


@dataclass
class Tally:
    """Recent failures, oldest first, each with its account; and the number of checks in progress."""

    most: int
    window: float
    failures: deque[tuple[float, str]] = field(default_factory=deque)
    checking: int = 0
    waiting: deque[Deferred[None]] = field(default_factory=deque)

    def locked(self, now: float) -> float:
        """Return the seconds until a password may be checked again; 0 if one may be checked now."""
        while self.failures and self.failures[0][0] <= now - self.window:
            self.failures.popleft()
        return self.failures[0][0] + self.window - now if len(self.failures) >= self.most else 0.0

    @property
    def is_full(self) -> bool:
        """Whether there would be too many failures if all checks in progress failed."""
        return len(self.failures) + self.checking >= self.most

    def forgive(self, name: str) -> None:
        """Forget the failures of one account."""
        self.failures = deque(failure for failure in self.failures if failure[1] != name)

    def done(self) -> None:
        """Count the end of a check; all waiting checks try again."""
        self.checking -= 1
        waiting, self.waiting = self.waiting, deque()
        for ready in waiting:
            ready.callback(None)


class Tallies:
    """At most REMEMBERED tallies, by key."""

    def __init__(self, most: int, window: float) -> None:
        self._most = most
        self._window = window
        self._tallies: OrderedDict[tuple[str, ...], Tally] = OrderedDict()

    def __len__(self) -> int:
        return len(self._tallies)

    def tally(self, *key: str) -> Tally:
        """Return the tally of a key; make a new one if there is none."""
        tally = self._tallies.setdefault(key, Tally(self._most, self._window))
        self._tallies.move_to_end(key)
        if len(self._tallies) > REMEMBERED:
            self._tallies.popitem(last=False)
        return tally


class LoginLimits:
    """The limits on all login attempts, on the login page and over FTP."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._here = Tallies(*HERE)
        self._addresses = Tallies(*ADDRESS)
        self._everywhere = Tallies(*EVERYWHERE)
        # Name and address of each successful login.
        self._owners: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._waiting = 0

    async def check(self, name: str, address: str, is_right: Callable[[], Awaitable[bool]]) -> bool:
        """Return the result of `is_right`; raise TooManyFailures or TooManyWaiting without calling it."""
        name = name[:MAX_NAME].lower()
        here, there = self._here.tally(name, address), self._addresses.tally(address)
        tallies = [here, there]
        if (name, address) not in self._owners:
            tallies.append(self._everywhere.tally(name))
        await self._wait_for_room(tallies)
        for tally in tallies:
            tally.checking += 1
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

    async def _wait_for_room(self, tallies: list[Tally]) -> None:
        """Wait until one more check may run; raise TooManyFailures or TooManyWaiting."""
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
