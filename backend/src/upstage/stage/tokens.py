"""Random tokens with a lifetime: web sessions and client keys. Pure."""

import secrets
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

LIFETIME = 12 * 3600.0  # seconds; UpStage's SESSION_LIFETIME


def new_token() -> str:
    """Return 32 random hex digits, from a cryptographic source."""
    return secrets.token_hex(16)


class Tokens(Generic[T]):
    """At most `most` tokens, each valid for `lifetime` seconds; a new one pushes out the oldest."""

    def __init__(self, clock: Callable[[], float], lifetime: float = LIFETIME, most: int = 1000) -> None:
        self._clock = clock
        self._lifetime = lifetime
        self._most = most
        self._issued: OrderedDict[str, tuple[float, T]] = OrderedDict()  # oldest first

    def issue(self, value: T) -> str:
        """Return a new token for `value`."""
        while len(self._issued) >= self._most:
            self._issued.popitem(last=False)
        token = new_token()
        self._issued[token] = (self._clock() + self._lifetime, value)
        return token

    def get(self, token: str) -> T | None:
        """Return the value of a token; None if it is unknown or expired."""
        expires, value = self._issued.get(token, (0.0, None))
        if value is not None and self._clock() >= expires:
            self.revoke(token)
            return None
        return value

    def revoke(self, token: str) -> None:
        """Remove a token, known or not."""
        self._issued.pop(token, None)

    def keep_if(self, keep: Callable[[T], bool]) -> None:
        """Remove the tokens of all values for which `keep` is false."""
        for token, (_, value) in list(self._issued.items()):
            if not keep(value):
                self.revoke(token)
