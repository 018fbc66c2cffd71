"""The commands `upstage player ...` and `upstage stage ...`.

They write to the database that a running server reads; the server notices a change within a second. Tasks
import their modules themselves, as in cli.py.
"""

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from upstage.state.database import Database

DatabaseTask = Callable[["Database", argparse.Namespace], None]


def add_parsers(commands: Any, task_of: Callable[[DatabaseTask], object]) -> None:
    """Add both commands to argparse's `commands`; `task_of` adapts functions on the open database."""
    player = commands.add_parser("player", help="add, list, change and remove players")
    players = player.add_subparsers(required=True, metavar="COMMAND")
    for name, action, text in (
        ("add", add_player, "add a player; the password is a line of standard input"),
        ("passwd", set_password, "set a player's password, a line of standard input"),
        ("remove", lambda database, options: database.remove_player(options.name), "remove a player"),
    ):
        command = players.add_parser(name, help=text, description=text)
        command.add_argument("name", metavar="NAME")
        command.set_defaults(task=task_of(action))
    players.choices["add"].add_argument("--rights", default="act", help="some of act,admin,su; default: act")
    players.add_parser("list", help="list players and rights").set_defaults(task=task_of(list_players))

    stage = commands.add_parser("stage", help="add, list and remove stages")
    stages = stage.add_subparsers(required=True, metavar="COMMAND")
    for name, action, text in (
        ("add", add_stage, "add an empty stage"),
        ("remove", lambda database, options: database.remove_stage(options.id), "remove it and its chat log"),
        ("reset", reset_stages, "reset a stage, or all of them: chat, drawings, positions"),
    ):
        command = stages.add_parser(name, help=text, description=text)
        nargs = "?" if name == "reset" else None
        command.add_argument("id", metavar="ID", nargs=nargs, help="the end of its address: /stages/ID")
        command.set_defaults(task=task_of(action))
    stages.choices["add"].add_argument("--name", default="", help="its display name; default: ID")
    stages.add_parser("list", help="list stages").set_defaults(task=task_of(list_stages))


def add_player(database: "Database", options: argparse.Namespace) -> None:
    """Add a player whose password is the first line of standard input."""
    from upstage.state.accounts import check_name
    from upstage.state.passwords import choose
    from upstage.state.records import Account

    check_name(options.name)
    rights = frozenset(filter(None, (right.strip() for right in options.rights.split(","))))
    Account(options.name, "", rights)  # checks name and rights before asking for the password
    database.add_player(Account(options.name, choose(password_line()), rights))


def set_password(database: "Database", options: argparse.Namespace) -> None:
    """Replace a player's password with the first line of standard input."""
    from upstage.state.accounts import check_name
    from upstage.state.passwords import choose

    check_name(options.name)
    database.set_password(options.name, choose(password_line()))


def list_players(database: "Database", options: argparse.Namespace) -> None:
    """Print one line for each player: name and rights."""
    from upstage.state.records import RIGHTS

    for account in database.snapshot().accounts.values():
        print(account.name, ",".join(right for right in RIGHTS if right in account.rights), sep="\t")


def add_stage(database: "Database", options: argparse.Namespace) -> None:
    from upstage.state.records import new_stage

    database.add_stage(new_stage(options.id, options.name or options.id))


def reset_stages(database: "Database", options: argparse.Namespace) -> None:
    """Reset one stage or all, also for connected clients; accounts, media and the stages' things stay."""
    for id in [options.id] if options.id else database.snapshot().stages:
        database.reset_stage(id)


def list_stages(database: "Database", options: argparse.Namespace) -> None:
    """Print one line for each stage: ID and name."""
    for stage in database.snapshot().stages.values():
        print(stage.id, stage.name, sep="\t")


def password_line() -> str:
    """Return a line of standard input: every user of the machine could see a password in the arguments."""
    if sys.stdin.isatty():
        print("Password: ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().rstrip("\r\n")
