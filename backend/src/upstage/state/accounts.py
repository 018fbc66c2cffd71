"""Accounts: the administrator and the players who may sign in, and their sessions."""

import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Protocol

from upstage.stage.keys import LIFETIME, Keys, digest_of
from upstage.stage.limits import client_of
from upstage.stage.players import AUDIENCE, Player
from upstage.state.login_limits import LoginLimits
from upstage.state.records import RIGHTS, Account, RecordError, Session

ADMIN = Player("admin", can_act=True, can_admin=True, can_su=True)
MAX_SIGN_UPS = 5  # new accounts from one address ...
SIGN_UP_WINDOW = 3600.0  # ... in this many seconds
MAX_ADDRESSES = 1000  # addresses that are remembered


class AddressLimit:
    """Limits an action to `most` times in `window` seconds for each address."""

    def __init__(self, most: int, window: float, clock: Callable[[], float]) -> None:
        self._most = most
        self._window = window
        self._clock = clock
        self._taken: OrderedDict[str, deque[float]] = OrderedDict()  # by address, oldest first

    def take(self, address: str) -> bool:
        """Count one action; return False, without counting it, if there have been too many."""
        times = self._taken.setdefault(address, deque(maxlen=self._most))
        if len(times) == self._most and self._clock() - times[0] < self._window:
            return False
        times.append(self._clock())
        if len(self._taken) > MAX_ADDRESSES:
            self._taken.popitem(last=False)
        return True


class SessionStore(Protocol):
    """Keeps sessions after the end of the process; `sessions.Sessions` implements this protocol."""

    def end(self, digest: str) -> None:
        """Note that a session has ended, for the next write."""

    async def add(self, digest: str, account: Account) -> None:
        """Write a new session; never raise because of a failing disk."""

    async def write(self) -> None:
        """Write the sessions that have ended; raise NotWritten."""


class Accounts:
    """The administrator, the players of the database, and the sessions of all who have signed in.

    The administrator is not in the database: a person who can read the settings can always sign in. `admin`
    is the hash of the administrator's password; `matches(hash, password)` checks a password.
    """

    def __init__(
        self,
        admin: str,
        matches: Callable[[str, str], Awaitable[bool]],
        store: SessionStore,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._admin = Account(ADMIN.name, admin, frozenset(RIGHTS))
        self._matches = matches
        self._limits = LoginLimits(clock)
        self._store = store
        self._sessions: Keys[Account] = Keys(clock, ended=store.end)
        self._players: dict[str, Account] = {}
        self.sign_ups = AddressLimit(MAX_SIGN_UPS, SIGN_UP_WINDOW, clock)

    def replace_players(self, players: Mapping[str, Account]) -> None:
        """Replace all players; the sessions of changed or removed players end."""
        self._players = {name.lower(): account for name, account in players.items()}
        self._sessions.keep_if(lambda account: self._find(account.name) == account)

    def _find(self, name: str) -> Account | None:
        return self._admin if name == ADMIN.name else self._players.get(name.lower())

    def player(self, session: str) -> Player:
        """Return the player of a session's token, or AUDIENCE if the token is not valid."""
        account = self._sessions.get(session)
        return account.player if account else AUDIENCE

    def restore(self, sessions: Iterable[Session], now: float) -> None:
        """Restore the sessions of an earlier process that have not expired, and whose account is unchanged.

        `now` is in seconds since 1970.
        """
        for session in sessions:
            left = min(session.expires - now, LIFETIME)
            if left > 0 and self._find(session.account.name) == session.account:
                self._sessions.restore(session.digest, session.account, left)
            else:
                self._store.end(session.digest)

    async def sign_out(self, session: str) -> None:
        """End a session; raise NotWritten if it would be valid again after a restart."""
        self._sessions.revoke(session)
        await self._store.write()

    async def sign_in(self, name: str, password: str, address: str) -> str | None:
        """Return a new session's token, or None if name or password are wrong; raise as `check` does."""
        account = await self.check(name, password, address)
        if account is None:
            return None
        token = self._sessions.issue(account)
        await self._store.add(digest_of(token), account)
        return token

    async def check(self, name: str, password: str, address: str) -> Account | None:
        """Return the account of a name and password, or None if either is wrong.

        After too many wrong passwords, raise TooManyFailures even for a right one; raise TooManyWaiting or
        Busy.
        """
        account = self._find(name)

        async def is_right() -> bool:
            # Rejecting an unknown name takes as long as rejecting a known one, so the time reveals no names.
            right = await self._matches((account or self._admin).password, password)
            return right and account is not None and self._find(name) == account

        return account if await self._limits.check(name, client_of(address), is_right) else None


def check_name(name: str) -> None:
    """Raise RecordError for the administrator's name."""
    if name.lower() == ADMIN.name:
        raise RecordError(
            "The name admin is reserved. Its password is UPSTAGE_ADMIN_PASSWORD, or the one that "
            "`upstage admin-password` prints."
        )
