"""Passwords: argon2 hashes, made and checked in threads so that they do not block the reactor."""

from typing import Any

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError
from twisted.internet.threads import deferToThreadPool
from twisted.python.threadpool import ThreadPool

MIN_LENGTH = 8
MAX_LENGTH = 200
# OWASP's parameters for argon2id: 19 MiB and about 20 ms for each check, which two threads of a small
# container can afford. https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html
HASHER = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)
MAX_WAITING = 100  # checks running or queued: two seconds of CPU time


class Busy(Exception):
    """Too many passwords wait to be checked."""


class PasswordError(ValueError):
    """An invalid new password; the message says why."""


def choose(password: str) -> str:
    """Return the hash of a new password; raise PasswordError for a wrong length. Blocks for about 20 ms."""
    if not MIN_LENGTH <= len(password) <= MAX_LENGTH:
        raise PasswordError(f"A password must have {MIN_LENGTH} to {MAX_LENGTH} characters.")
    return HASHER.hash(password)


def matches(hash: str, password: str) -> bool:
    """Return whether a password has this hash. Blocks for about 20 ms, right or wrong."""
    try:
        return HASHER.verify(hash, password)
    except (Argon2Error, InvalidHashError):
        return False


class Passwords:
    """Runs `choose` and `matches` in threads; argon2 releases Python's lock while it computes."""

    def __init__(self, reactor: Any) -> None:
        self._reactor = reactor
        self._threads = ThreadPool(1, 2, "passwords")
        self._waiting = 0

    @property
    def queued(self) -> int:
        """The number of passwords being checked or hashed."""
        return self._waiting

    def start(self) -> None:
        self._threads.start()

    def stop(self) -> None:
        self._threads.stop()

    async def choose(self, password: str) -> str:
        """Return the hash of a new password; raise PasswordError or Busy."""
        hash: str = await self._run(choose, password)
        return hash

    async def matches(self, hash: str, password: str) -> bool:
        """Return whether a password has this hash; raise Busy."""
        right: bool = await self._run(matches, hash, password)
        return right

    async def _run(self, work: Any, *args: str) -> Any:
        if self._waiting >= MAX_WAITING:
            raise Busy
        self._waiting += 1
        try:
            return await deferToThreadPool(self._reactor, self._threads, work, *args)
        finally:
            self._waiting -= 1
