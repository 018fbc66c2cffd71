"""Rate limits for one connection, and for all connections of one address together. Pure.

Input costs tokens: one for each frame, WebSocket control frame and fragment of a message, one for each KiB,
more for expensive work. Nothing is dropped for lack of tokens: the server does not read from a connection in
debt until the debt is paid, so TCP makes the client wait.
"""

import ipaddress
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

RATE = 60.0  # tokens a second: a mouse that draws sends 31 frames, and its owner chats and moves besides
# Tokens at once: clearing the stage sends a frame for each avatar, and a client that lagged sends many.
BURST = 300.0
GRACE = 20.0  # seconds within which a connection in debt must have paid everything back
ADDRESS_RATE = 6000.0  # tokens a second of one address: a hundred constantly busy connections
MAX_PER_ADDRESS = 6000  # connections: a school behind one address, or a load test with 5,000 clients
# Bytes that a stage may send to a client that is behind, before it is cut off: twelve seconds of a stage on
# which four players draw at once (5 kB/s). A healthy client that needs four seconds for a JOIN of 700 kB, at
# 300 ms for each round trip, may meanwhile get 16 kB/s.
MAX_UNREAD = 64 * 1024
MAX_WAIT = 10.0  # seconds that a connection waits for the debts of its address
REMEMBERED = 10_000  # addresses without connections

BYTES = 1024  # bytes for one token
CONNECT = 5.0  # tokens
JOIN = 25.0  # a whole stage is sent


class Bucket:
    """A token bucket: gains `rate` tokens each second, up to `burst`; a client that spends more must wait."""

    def __init__(self, clock: Callable[[], float], rate: float, burst: float) -> None:
        self._clock = clock
        self._rate = rate
        self._burst = burst
        self._tokens = burst
        self._when = self._full = clock()

    def spend(self, tokens: float) -> float:
        """Take tokens; return the seconds until the debt is paid, 0 without a debt."""
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


@dataclass
class AddressUse:
    """The connections of one address: their number, and the bucket that they share."""

    bucket: Bucket
    connections: int = 0


class Addresses:
    """Connections by address: at most `most` of each, and one bucket for all of them.

    The bucket has room for all to connect and join at once, as a class does at the start of a performance.
    """

    def __init__(
        self, clock: Callable[[], float], most: int = MAX_PER_ADDRESS, rate: float = ADDRESS_RATE
    ) -> None:
        self._clock = clock
        self._most = most
        self._rate = rate
        self._burst = max(rate, most * (CONNECT + JOIN))
        self._open: dict[str, AddressUse] = {}
        # Addresses without connections: a new connection must not start without the old debts.
        self._left: OrderedDict[str, Bucket] = OrderedDict()

    def enter(self, address: str) -> Bucket | None:
        """Count one more connection and return the bucket of its address; None if there are too many."""
        use = self._open.get(address)
        if use is None:
            new = Bucket(self._clock, self._rate, self._burst)
            use = AddressUse(self._left.pop(address, new))
        if use.connections >= self._most or use.bucket.spend(0) > MAX_WAIT:
            if not use.connections:
                self._leave(address, use.bucket)
            return None
        use.bucket.spend(CONNECT)
        use.connections += 1
        self._open[address] = use
        return use.bucket

    def leave(self, address: str) -> None:
        """Count one connection fewer."""
        use = self._open[address]
        use.connections -= 1
        if not use.connections:
            del self._open[address]
            self._leave(address, use.bucket)

    def _leave(self, address: str, bucket: Bucket) -> None:
        self._left[address] = bucket
        if len(self._left) > REMEMBERED:
            self._left.popitem(last=False)


@lru_cache(maxsize=4096)
def client_of(address: str) -> str:
    """Return the key of a client: its IPv4 address, or its IPv6 /64, which a client has to itself."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return address
    if ip.version == 4:
        return address
    return str(ip.ipv4_mapped or ipaddress.ip_network((int(ip) >> 64 << 64, 64)))
