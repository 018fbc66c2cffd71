"""The commands `upstage player ...` and `upstage stage ...`: they write into the same database that a
running server reads, which notices it within a second."""

import sqlite3
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from upstage.accounts import check_new
from upstage.database import FILE, Database
from upstage.passwords import choose
from upstage.records import RIGHTS, Account, RecordError, new_stage
from upstage.settings import Settings


def add_player(settings: Settings, options: Namespace) -> None:
    """Add a player whose password is the first line of standard input."""
    check_new(options.name)
    account = Account(options.name, "", parse_rights(options.rights))
    with opened(settings) as database:
        database.add_player(Account(account.name, choose(read_password()), account.rights))


def set_password(settings: Settings, options: Namespace) -> None:
    """Give a player another password, the first line of standard input."""
    check_new(options.name)
    with opened(settings) as database:
        database.set_password(options.name, choose(read_password()))


def remove_player(settings: Settings, options: Namespace) -> None:
    """Remove a player; a session of theirs ends."""
    check_new(options.name)
    with opened(settings) as database:
        database.remove_player(options.name)


def list_players(settings: Settings, options: Namespace) -> None:
    """Print one line for each player: name and rights."""
    with opened(settings) as database:
        for account in database.snapshot().accounts.values():
            print(account.name, ",".join(right for right in RIGHTS if right in account.rights), sep="\t")


def add_stage(settings: Settings, options: Namespace) -> None:
    """Add an empty stage."""
    with opened(settings) as database:
        database.add_stage(new_stage(options.id, options.name or options.id))


def remove_stage(settings: Settings, options: Namespace) -> None:
    """Remove a stage, and what was said on it."""
    with opened(settings) as database:
        database.remove_stage(options.id)


def list_stages(settings: Settings, options: Namespace) -> None:
    """Print one line for each stage: ID and name."""
    with opened(settings) as database:
        for stage in database.snapshot().stages.values():
            print(stage.id, stage.name, sep="\t")


def parse_rights(text: str) -> frozenset[str]:
    """Return the rights in a list with commas; Account checks them."""
    return frozenset(filter(None, (right.strip() for right in text.split(","))))


def read_password() -> str:
    """Return a line of standard input: an argument would be seen by everybody on the machine."""
    if sys.stdin.isatty():
        print("Password: ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().rstrip("\r\n")


@contextmanager
def opened(settings: Settings) -> Iterator[Database]:
    """Open the server's database; raise RecordError, also for what SQLite says."""
    if not (settings.data / FILE).exists():
        raise RecordError(f"there is no {settings.data / FILE} yet: it is made when the server starts")
    try:
        database = Database(settings.data)
    except sqlite3.Error as error:
        raise RecordError(f"{settings.data / FILE}: {error}") from error
    try:
        yield database
    except sqlite3.Error as error:
        raise RecordError(f"{settings.data / FILE}: {error}") from error
    finally:
        database.close()


TASKS: dict[str, Callable[[Settings, Namespace], None]] = {
    "add player": add_player,
    "list players": list_players,
    "passwd player": set_password,
    "remove player": remove_player,
    "add stage": add_stage,
    "list stages": list_stages,
    "remove stage": remove_stage,
}
