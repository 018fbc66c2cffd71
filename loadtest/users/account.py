"""The account of the class `Player`: from the form or command line, the environment, or a file."""

import os
from argparse import Namespace
from pathlib import Path

FILE = "/run/player/account"  # the stack's backend writes it: one line, `name:password`


def fill_in(options: Namespace) -> str | None:
    """Complete the options `player` and `password`; return the reason if that fails, or None.

    The process that leads a run does so; its workers get the account with the other options.
    """
    options.password = options.password or os.environ.get("LOADTEST_PASSWORD", "")
    if options.player and options.password:
        return None
    if options.player or options.password:
        return "--player and --password (or the form) must both be given"
    file = Path(os.environ.get("LOADTEST_ACCOUNT_FILE", FILE))
    try:
        name, _, password = file.read_text().strip().partition(":")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no text"
        return f"no account is given, and {file} cannot be read: {reason}"
    if not (name and password) or "\n" in password:
        return f"{file} is not one line, name:password"
    options.player, options.password = name, password
    return None
