"""Random tokens with a lifetime: web sessions and client keys. Pure."""

import hashlib
import secrets
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)

LIFETIME = 12 * 3600.0  # seconds; UpStage's SESSION_LIFETIME


def new_key() -> str:
    """Return 32 random hex digits, from a cryptographic source."""
    return secrets.token_hex(16)


def digest_of(token: str) -> str:
    """Return a token's SHA-256, in hexadecimal: the token cannot be computed from it."""
    return hashlib.sha256(token.encode()).hexdigest()


class Keys(Generic[T]):
    """At most `most` tokens, each valid for `lifetime` seconds; only their digests are kept.

    When there are that many, a new one replaces the oldest one of the value with the most tokens: a player
    who signs in again and again ends their own sessions, and no other player's. `ended` is called with the
    digest of each token whose validity ends.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        lifetime: float = LIFETIME,
        most: int = 1000,
        ended: Callable[[str], object] = lambda digest: None,
    ) -> None:
        self._clock = clock
        self._lifetime = lifetime
        self._most = most
        self._ended = ended
        self._issued: dict[str, tuple[float, T]] = {}  # by digest
        self._of: dict[T, dict[str, None]] = {}  # the digests of each value's tokens; the oldest first

    def issue(self, value: T) -> str:
        token = new_key()
        self.restore(digest_of(token), value, self._lifetime)
        return token

    def restore(self, digest: str, value: T, left: float) -> None:
        """Make a token valid for `left` seconds."""
        if len(self._issued) >= self._most:
            own = self._of.get(value)
            most = max(self._of.values(), key=lambda digests: (len(digests), digests is own))
            self._remove(next(iter(most)))
        self._issued[digest] = (self._clock() + left, value)
        self._of.setdefault(value, {})[digest] = None

    def get(self, token: str) -> T | None:
        """Return the value of a token; None if it is unknown or expired."""
        digest = digest_of(token)
        expires, value = self._issued.get(digest, (0.0, None))
        if value is not None and self._clock() >= expires:
            self._remove(digest)
            return None
        return value

    def revoke(self, token: str) -> None:
        """Remove a token, if it is known."""
        self._remove(digest_of(token))

    def keep_if(self, keep: Callable[[T], bool]) -> None:
        """Remove the tokens of all values for which `keep` is false."""
        for value, digests in list(self._of.items()):
            if not keep(value):
                for digest in list(digests):
                    self._remove(digest)

    def _remove(self, digest: str) -> None:
        if issued := self._issued.pop(digest, None):
            _, value = issued
            del self._of[value][digest]
            if not self._of[value]:
                del self._of[value]
            self._ended(digest)
