"""The command `upstage`. Settings come from the environment, see `settings`."""

import argparse
import os
import sys

from upstage import accounts, health
from upstage.settings import Settings, SettingsError, from_environment


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit status."""
    parser = argparse.ArgumentParser(prog="upstage", description="The UpStage stand-in.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, command, text in (
        ("serve", serve, "open the house and stay until SIGTERM"),
        ("healthcheck", healthcheck, "ask both doors of a running server; exit 0 or 1"),
        ("admin-password", admin_password, "print the administrator's password"),
    ):
        commands.add_parser(name, help=text, description=text).set_defaults(command=command)
    options = parser.parse_args(arguments)
    try:
        status: int = options.command(from_environment(os.environ))
    except SettingsError as error:
        return complain(error)
    return status


def serve(settings: Settings) -> int:
    """Run the server."""
    from upstage.service import serve as run  # here, because the health check needs no Twisted

    return run(settings)


def healthcheck(settings: Settings) -> int:
    """Check both doors."""
    try:
        health.check(settings)
    except health.Unhealthy as error:
        return complain(error)
    return 0


def admin_password(settings: Settings) -> int:
    """Print the password in force."""
    try:
        password = settings.admin_password or accounts.read_password(settings.data)
    except OSError as error:
        return complain(error)
    if not password:
        return complain("no password yet: it is generated when the server starts")
    print(password)
    return 0


def complain(problem: object) -> int:
    """Say what is wrong; return the exit status for it."""
    print(f"upstage: {problem}", file=sys.stderr)
    return 1
