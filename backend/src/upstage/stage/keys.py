"""Random tokens with a lifetime: web sessions and client keys. Pure."""

import secrets
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)

LIFETIME = 12 * 3600.0  # seconds; UpStage's SESSION_LIFETIME


def new_key() -> str:
    """Return 32 random hex digits, from a cryptographic source."""
    return secrets.token_hex(16)


class Keys(Generic[T]):
    """At most `most` tokens, each valid for `lifetime` seconds.

    When there are that many, a new one pushes out the oldest of the value that has the most: a player who
    signs in again and again ends the player's own sessions, and no other player's.
    """

    def __init__(self, clock: Callable[[], float], lifetime: float = LIFETIME, most: int = 1000) -> None:
        self._clock = clock
        self._lifetime = lifetime
        self._most = most
        self._issued: dict[str, tuple[float, T]] = {}
        self._of: dict[T, dict[str, None]] = {}  # the tokens of each value; the oldest first

    def issue(self, value: T) -> str:
        if len(self._issued) >= self._most:
            own = self._of.get(value)
            most = max(self._of.values(), key=lambda tokens: (len(tokens), tokens is own))
            self.revoke(next(iter(most)))
        token = new_key()
        self._issued[token] = (self._clock() + self._lifetime, value)
        self._of.setdefault(value, {})[token] = None
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
        if issued := self._issued.pop(token, None):
            _, value = issued
            del self._of[value][token]
            if not self._of[value]:
                del self._of[value]

    def keep_if(self, keep: Callable[[T], bool]) -> None:
        """Remove the tokens of all values for which `keep` is false."""
        for value, tokens in list(self._of.items()):
            if not keep(value):
                for token in list(tokens):
                    self.revoke(token)
