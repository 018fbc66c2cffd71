"""Limits for one connection, for all connections of one address, and for all addresses together. Pure.

Input costs tokens: one for each frame, WebSocket control frame and fragment of a message, one for each KiB,
more for expensive work. Nothing is dropped for lack of tokens: the server does not read from a connection in
debt until the debt is paid, so TCP makes the client wait.
"""

import ipaddress
from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache
from typing import Protocol

RATE = 60.0  # tokens a second: a mouse that draws sends 31 frames, and its owner also chats and moves
# Most tokens at once: a player who clears the stage sends a frame for each avatar, and a client whose
# connection was slow sends many frames together.
BURST = 300.0
GRACE = 20.0  # seconds in which a connection in debt must have paid everything back
ADDRESS_RATE = 6000.0  # tokens a second of one address: a hundred constantly busy connections
MAX_PER_ADDRESS = 6000  # connections: for a school behind one address, or a load test with 5,000 clients
# Connections of all addresses; nginx has room for more (nginx/scripts/settings.sh), and the memory limits in
# compose.yaml have room for these.
MAX_TOGETHER = 6000
# Bytes that a stage may send to a client that is behind, before the client is cut off: twelve seconds of a
# stage on which four players draw at once (5 kB/s). A healthy client that needs four seconds for a JOIN of
# 700 kB, at 300 ms for each round trip, may get 16 kB/s in that time.
MAX_UNREAD = 64 * 1024
MAX_WAIT = 10.0  # seconds that a connection may have to wait for the debts of its address
REMEMBERED = 10_000  # buckets of addresses without connections

BYTES = 1024  # bytes for one token
CONNECT = 5.0  # tokens
JOIN = 25.0  # tokens: it makes the server send a whole stage


class Bucket:
    """A token bucket: gains `rate` tokens each second, up to `burst`; a client that spends more must wait."""

    def __init__(self, clock: Callable[[], float], rate: float, burst: float) -> None:
        self._clock = clock
        self._rate = rate
        self._burst = burst
        self._tokens = burst
        self._when = self._full = clock()

    def spend(self, tokens: float) -> float:
        """Take tokens; return the seconds until the debt is paid, 0 if there is none."""
        now = self._clock()
        self._tokens += (now - self._when) * self._rate
        self._when = now
        if self._tokens >= self._burst:
            self._tokens = self._burst
            self._full = now
        self._tokens -= tokens
        return max(0.0, -self._tokens / self._rate)

    def since_full(self) -> float:
        """Return how many seconds ago `spend` last found the bucket full."""
        return self._when - self._full


class Holder(Protocol):
    """A connection that occupies a place."""

    def give_up(self) -> None:
        """Close now, and free the place before this returns: another client gets it."""


class Places:
    """Places for `most` holders, at most `each` of one address.

    When all are taken, a newcomer gets a place of the address that holds the most, unless its own address
    holds about as many: a client with many places never shuts out one that needs a few. The newest holder of
    the largest address loses its place: a class that has been there for an hour stays. While any holders have
    not joined a stage, only these count: unused places are given away first.
    """

    def __init__(self, most: int, each: int) -> None:
        self._most = most
        self._each = each
        self._taken = 0
        self._held: dict[str, dict[Holder, None]] = {}  # by address; the oldest first
        self._unjoined: dict[str, dict[Holder, None]] = {}  # the holders that have not joined a stage

    def __len__(self) -> int:
        """The number of taken places."""
        return self._taken

    def has(self, address: str) -> bool:
        return address in self._held

    def take(self, address: str, holder: Holder) -> bool:
        """Take a place for a holder that has not joined; return False if its address can get none."""
        if len(self._held.get(address, ())) >= self._each:
            return False
        if self._taken >= self._most:
            crowd = self._unjoined or self._held
            own = len(crowd.get(address, ()))
            largest = max(crowd.values(), key=len)
            # An address without a place gets even another address's only place, if its holder has not joined.
            if len(largest) <= own + 1 and (own or not self._unjoined):
                return False
            next(reversed(largest)).give_up()
        self._held.setdefault(address, {})[holder] = None
        self._unjoined.setdefault(address, {})[holder] = None
        self._taken += 1
        return True

    def note(self, address: str, holder: Holder, joined: bool) -> None:
        """Note whether a holder is on a stage now."""
        if joined:
            _discard(self._unjoined, address, holder)
        else:
            self._unjoined.setdefault(address, {})[holder] = None

    def free(self, address: str, holder: Holder) -> None:
        """Free the place of a holder, which must have one."""
        _discard(self._held, address, holder)
        _discard(self._unjoined, address, holder)
        self._taken -= 1


def _discard(held: dict[str, dict[Holder, None]], address: str, holder: Holder) -> None:
    if own := held.get(address):
        own.pop(holder, None)
        if not own:
            del held[address]


class Addresses:
    """The connections of all addresses: a place for each connection, and a bucket for each address.

    A bucket is large enough for all clients of a school to connect and join at once, before a performance.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        most: int = MAX_PER_ADDRESS,
        rate: float = ADDRESS_RATE,
        together: int = MAX_TOGETHER,
    ) -> None:
        self._clock = clock
        self._rate = rate
        self._burst = max(rate, most * (CONNECT + JOIN))
        self._places = Places(together, most)
        self._buckets: dict[str, Bucket] = {}
        # Addresses without connections: a new connection must not escape the debts of earlier ones.
        self._left: OrderedDict[str, Bucket] = OrderedDict()

    def enter(self, address: str, holder: Holder) -> Bucket | None:
        """Give a connection a place and return the bucket of its address; None if there are too many."""
        bucket = self._buckets.get(address) or self._left.pop(address, None)
        if bucket is None:
            bucket = Bucket(self._clock, self._rate, self._burst)
        self._buckets[address] = bucket
        if bucket.spend(0) > MAX_WAIT or not self._places.take(address, holder):
            self._forget(address)
            return None
        bucket.spend(CONNECT)
        return bucket

    def note(self, address: str, holder: Holder, joined: bool) -> None:
        """Note whether a connection is on a stage now; connections on no stage lose their places first."""
        self._places.note(address, holder, joined)

    def leave(self, address: str, holder: Holder) -> None:
        """Free a connection's place."""
        self._places.free(address, holder)
        self._forget(address)

    def _forget(self, address: str) -> None:
        """If an address has no connections left, move its bucket to those that are kept for a while."""
        if not self._places.has(address):
            self._left[address] = self._buckets.pop(address)
            if len(self._left) > REMEMBERED:
                self._left.popitem(last=False)


@lru_cache(maxsize=4096)
def client_of(address: str) -> str:
    """Return the key of a client: its IPv4 address, or its IPv6 /64, which one client has to itself."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return address
    if ip.version == 4:
        return address
    return str(ip.ipv4_mapped or ipaddress.ip_network((int(ip) >> 64 << 64, 64)))
