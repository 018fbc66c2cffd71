"""The account of the load test's players and of the simulated camera: made by the server, never shipped."""

import secrets
import sqlite3
from pathlib import Path

from twisted.logger import Logger

from upstage.state.data_lock import locked
from upstage.state.database import Database
from upstage.state.files import write_private
from upstage.state.passwords import MAX_LENGTH, MIN_LENGTH, choose, matches
from upstage.state.records import Account

NAME = "load"

log = Logger()


def keep_load_account(database: Database, file: Path) -> None:
    """Add the account if it is missing; its password is in `file`, as one line NAME:PASSWORD.

    Several servers may share the file, and with it the password. If the account has another password, the
    file is removed, because wrong passwords would lock the account. No error with the file prevents the
    server's start.
    """
    account = database.snapshot().accounts.get(NAME)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with locked(file.with_name(".lock")):
            kept = _read(file)
            if account is None:
                if kept is None:
                    kept = secrets.token_urlsafe(12)
                    write_private(file, f"{NAME}:{kept}\n")
                database.add_player(Account(NAME, choose(kept), frozenset({"act"})))
            elif file.exists() and not (kept and matches(account.password, kept)):
                file.unlink()
                log.warn("the password of the account load was changed: load tests need another account")
    except OSError as error:
        log.warn("the account of the load test could not be written", fields={"reason": str(error)})


def leave_out(database: sqlite3.Connection, file: Path) -> None:
    """Remove the account from a copy of the database, unless its password was changed.

    A server that starts on the copy adds the account again, with the password of its own file.
    """
    row = database.execute("SELECT password FROM player WHERE name = ?", (NAME,)).fetchone()
    kept = _read(file)
    if row and kept and matches(row[0], kept):
        with database:
            database.execute("DELETE FROM player WHERE name = ?", (NAME,))


def _read(file: Path) -> str | None:
    """Return the password in a file; None if there is no file, or no password that `choose` accepts."""
    if not file.exists():
        return None
    name, _, password = file.read_text("utf-8", "replace").strip().partition(":")
    return password if name == NAME and MIN_LENGTH <= len(password) <= MAX_LENGTH else None
