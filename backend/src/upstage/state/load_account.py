"""The account of the load test's players and of the simulated camera: made by the server, never shipped."""

import secrets
from pathlib import Path

from twisted.logger import Logger

from upstage.state.admin_password import write_private
from upstage.state.database import Database
from upstage.state.passwords import choose, matches
from upstage.state.records import Account

NAME = "load"

log = Logger()


def keep_load_account(database: Database, file: Path) -> None:
    """Add the account if it is missing, with a new password in `file`, as one line NAME:PASSWORD.

    The file is removed if its password is no longer the account's. A file that cannot be written is no
    reason not to start.
    """
    account = database.snapshot().accounts.get(NAME)
    try:
        kept = file.read_text("utf-8", "replace").strip() if file.exists() else None
        if account is None:
            password = secrets.token_urlsafe(12)
            file.parent.mkdir(parents=True, exist_ok=True)
            write_private(file, f"{NAME}:{password}\n")  # first: without it nobody would know the password
            database.add_player(Account(NAME, choose(password), frozenset({"act"})))
        elif kept is not None and not matches(account.password, kept.removeprefix(f"{NAME}:")):
            file.unlink()
            log.warn("the password of the account load was changed: load tests need another account")
    except OSError as error:
        log.warn("the account of the load test could not be written", fields={"reason": str(error)})
