"""How much one connection may say, and how many connections one address may have. Pure."""

from collections import Counter
from collections.abc import Callable

RATE = 60.0  # frames a second: a mouse that draws sends 31, and its owner chats, moves and whispers besides
BURST = 300  # frames at once: clearing the stage sends one for each avatar, a client that lagged sends many
MAX_DROPPED = 1000  # frames over the limit, without a pause in between, before the connection is cut
MAX_PER_ADDRESS = 6000  # connections: a school behind one address, or a bench that fills the house with 5,000


class Bucket:
    """A token bucket: each frame takes a token, `rate` come back each second, up to `burst`."""

    def __init__(self, clock: Callable[[], float], rate: float = RATE, burst: float = BURST) -> None:
        self.dropped = 0  # frames refused since the bucket was last full
        self._clock = clock
        self._rate = rate
        self._burst = burst
        self._tokens = burst
        self._when = clock()

    def take(self) -> bool:
        """Whether there is a token for one more frame."""
        now = self._clock()
        self._tokens += (now - self._when) * self._rate
        self._when = now
        if self._tokens >= self._burst:
            self._tokens = self._burst
            self.dropped = 0
        if self._tokens < 1:
            self.dropped += 1
            return False
        self._tokens -= 1
        return True


class Addresses:
    """Counts connections by address."""

    def __init__(self, most: int = MAX_PER_ADDRESS) -> None:
        self._most = most
        self._open: Counter[str] = Counter()

    def enter(self, address: str) -> bool:
        """Count one more, unless the address has as many as it may."""
        if self._open.get(address, 0) >= self._most:
            return False
        self._open[address] += 1
        return True

    def leave(self, address: str) -> None:
        """Count one less; an address without connections takes no room."""
        self._open[address] -= 1
        if self._open[address] <= 0:
            del self._open[address]
