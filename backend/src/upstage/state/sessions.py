"""Sign-ins that outlive the process: the database keeps each session, with only its token's digest.

A session that cannot be written is valid until the process ends.
"""

import sqlite3
import time
from collections.abc import Iterable

from argon2.exceptions import InvalidHashError
from twisted.logger import Logger

from upstage.stage.keys import LIFETIME
from upstage.state.accounts import ADMIN
from upstage.state.database import LOCK_TIME, Database
from upstage.state.passwords import HASHER, matches
from upstage.state.records import Account, NotWritten, Session
from upstage.state.store import SHORT_WAIT, Store

log = Logger()


class Sessions:
    """Writes the sessions that begin and end, in the thread of a Store."""

    def __init__(self, database: Database, store: Store) -> None:
        self._database = database
        self._store = store
        self._ended: list[str] = []  # digests; at most as many as there can be sessions

    def end(self, digest: str) -> None:
        """Note that a session has ended, for the next write."""
        self._ended.append(digest)

    async def add(self, digest: str, account: Account) -> None:
        """Write a new session; never raise because of a failing disk."""
        try:
            await self.write([Session(digest, account, time.time() + LIFETIME)], SHORT_WAIT)
        except (NotWritten, sqlite3.Error) as problem:
            log.warn("a sign-in is kept in memory only", fields={"reason": str(problem)})

    async def write(self, added: Iterable[Session] = (), wait: float = LOCK_TIME) -> None:
        """Add sessions and remove ended ones; raise NotWritten, as a restart would then revive ended ones."""
        ended, self._ended = self._ended, []
        try:
            await self._store.run(self._database.change_sessions, added, ended, wait)
        except BaseException:
            self._ended += ended
            raise


def admin_hash(password: str, sessions: Iterable[Session]) -> str:
    """Return a hash of the administrator's password: the sessions' hash if it matches, else a new one.

    Blocks for about 20 ms.
    """
    for known in {session.account.password for session in sessions if session.account.name == ADMIN.name}:
        try:
            ours = not HASHER.check_needs_rehash(known)  # a hash from a backup may take any effort to check
        except InvalidHashError:
            continue
        if ours and matches(known, password):
            return known
    return HASHER.hash(password)
