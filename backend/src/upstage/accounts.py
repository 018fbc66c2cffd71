"""Who may sign in: the administrator's password, sessions, and a brake on guessing."""

import hmac
import os
import secrets
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from pathlib import Path

from upstage.stage import Player
from upstage.tokens import Tokens

ADMIN = Player("admin", can_act=True, can_admin=True, can_su=True)
PASSWORD_FILE = "admin-password"
MAX_FAILURES = 10  # wrong passwords from one address ...
FAILURE_WINDOW = 60.0  # ... in so many seconds
MAX_ADDRESSES = 1000  # addresses whose failures are remembered


def read_password(data: Path) -> str | None:
    """Return the generated password kept in the data folder, None before the first start."""
    try:
        return (data / PASSWORD_FILE).read_text("utf-8").strip() or None
    except FileNotFoundError:
        return None


def keep_password(data: Path) -> str:
    """Return the kept password; generate and keep one at the first start."""
    password = read_password(data)
    if password is None:
        password = secrets.token_urlsafe(12)
        write_private(data / PASSWORD_FILE, password + "\n")
    return password


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read; after a crash it is there whole or not at all."""
    temporary = path.with_name(f".{path.name}.new")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


class TooManyFailures(Exception):
    """This address has guessed too often; it may try again after FAILURE_WINDOW seconds."""


class Accounts:
    """One administrator, and the sessions of those who signed in as such."""

    def __init__(self, password: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._password = password.encode()
        self._clock = clock
        self._failures: OrderedDict[str, deque[float]] = OrderedDict()  # by address, oldest first
        self.sessions: Tokens[Player] = Tokens(clock)

    def sign_in(self, name: str, password: str, address: str) -> str | None:
        """Return a new session's token, or None if name or password are wrong.

        Raise TooManyFailures, right or wrong, if the address has failed too often.
        """
        failures = self._failures.get(address, deque(maxlen=MAX_FAILURES))
        if len(failures) == MAX_FAILURES and self._clock() - failures[0] < FAILURE_WINDOW:
            raise TooManyFailures
        # Both comparisons always run, each in a time that does not depend on what is right.
        right_name = hmac.compare_digest(name.encode(), ADMIN.name.encode())
        right_password = hmac.compare_digest(password.encode(), self._password)
        if right_name and right_password:
            self._failures.pop(address, None)
            return self.sessions.issue(ADMIN)
        failures.append(self._clock())
        self._failures[address] = failures
        if len(self._failures) > MAX_ADDRESSES:
            self._failures.popitem(last=False)
        return None
