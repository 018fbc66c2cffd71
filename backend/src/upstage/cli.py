"""The command `upstage`. Settings come from the environment, see `settings`."""

import argparse
import os
import sys

from upstage import health
from upstage.admin_password import read_password
from upstage.settings import Settings, SettingsError, from_environment


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit status."""
    options = parser().parse_args(arguments)
    try:
        settings = from_environment(os.environ)
    except SettingsError as error:
        return complain(error)
    status: int = options.command(settings, options)
    return status


def parser() -> argparse.ArgumentParser:
    """Return what knows all commands and their arguments."""
    top = argparse.ArgumentParser(prog="upstage", description="The UpStage stand-in.")
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    for name, command, text in (
        ("serve", serve, "open the house and stay until SIGTERM"),
        ("healthcheck", healthcheck, "ask both doors of a running server; exit 0 or 1"),
        ("admin-password", admin_password, "print the administrator's password"),
    ):
        commands.add_parser(name, help=text, description=text).set_defaults(command=command)

    player = commands.add_parser("player", help="add, list, change and remove players")
    players = player.add_subparsers(required=True, metavar="COMMAND")
    for name, text in (
        ("add", "add a player; the password is a line of standard input"),
        ("passwd", "set a player's password, a line of standard input"),
        ("remove", "remove a player"),
    ):
        task = players.add_parser(name, help=text, description=text)
        task.add_argument("name", metavar="NAME")
        task.set_defaults(command=registrar, task=f"{name} player")
    players.choices["add"].add_argument("--rights", default="act", help="some of act,admin,su; default: act")
    players.add_parser("list", help="list players and rights").set_defaults(
        command=registrar, task="list players"
    )

    stage = commands.add_parser("stage", help="add, list and remove stages")
    stages = stage.add_subparsers(required=True, metavar="COMMAND")
    for name, text in (
        ("add", "add an empty stage"),
        ("remove", "remove a stage and what was said on it"),
    ):
        task = stages.add_parser(name, help=text, description=text)
        task.add_argument("id", metavar="ID", help="the end of its address: /stages/ID")
        task.set_defaults(command=registrar, task=f"{name} stage")
    stages.choices["add"].add_argument("--name", default="", help="what it is called; default: ID")
    stages.add_parser("list", help="list stages").set_defaults(command=registrar, task="list stages")
    return top


def serve(settings: Settings, options: argparse.Namespace) -> int:
    """Run the server."""
    from upstage.service import serve as run  # here, because the health check needs no Twisted

    return run(settings)


def healthcheck(settings: Settings, options: argparse.Namespace) -> int:
    """Check both doors."""
    try:
        health.check(settings)
    except health.Unhealthy as error:
        return complain(error)
    return 0


def admin_password(settings: Settings, options: argparse.Namespace) -> int:
    """Print the password in force."""
    try:
        password = settings.admin_password or read_password(settings.data)
    except OSError as error:
        return complain(error)
    if not password:
        return complain("no password yet: it is generated when the server starts")
    print(password)
    return 0


def registrar(settings: Settings, options: argparse.Namespace) -> int:
    """Do one task with players or stages."""
    from upstage import registrar  # here, because the health check needs no database
    from upstage.passwords import PasswordError
    from upstage.records import RecordError

    try:
        registrar.TASKS[options.task](settings, options)
    except (RecordError, PasswordError) as error:
        return complain(error)
    return 0


def complain(problem: object) -> int:
    """Say what is wrong; return the exit status for it."""
    print(f"upstage: {problem}", file=sys.stderr)
    return 1
