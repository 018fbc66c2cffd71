"""What bin/class runs: check COMMAND NUMBER, room N, open N, status, reset WHO and down."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from proscenium.terminal import interrupts, note_interrupts, step, stop

from . import copies
from .copies import made
from .status import as_csv, as_table, read_copies

CLASS = Path(".run/class")
NOTHING_TO_DO = 3  # exit status
NUMBERS = {"open": "N", "reset": "WHO"}  # the variables that commands take


def check(command: str, text: str = "") -> None:
    """Exit unless the command and its number, from 1 to 99, are possible."""
    if command not in COMMANDS:
        stop(f"class knows open, status, reset and down, not '{command}'")
    variable = NUMBERS.get(command)
    if variable and not re.fullmatch("[1-9][0-9]?", text):
        stop(f"{variable} is '{text}'; it must be a number from 1 to 99, such as {variable}=7")
    if command == "open":
        copies.first_port(int(text))
    elif not made(CLASS):
        print("No class is open. Type: make class N=20", file=sys.stderr)
        sys.exit(NOTHING_TO_DO if command == "down" else 1)


def room(last: str) -> None:
    """Say what may surprise; exit if the copies that are not open need more memory than there is."""
    if copies.run("git", "status", "--porcelain", "--untracked-files=no"):
        print("This checkout has changes that are not committed: the copies get the last commit.")
    if os.environ["BIND_ADDR"] != "127.0.0.1" and not os.environ.get("SERVER_NAMES"):
        print("BIND_ADDR lets other machines in, but without SERVER_NAMES nginx answers with 421.")
    copies.require_memory(len(copies.missing(CLASS, int(last))))


def open_class(last: str) -> None:
    """Open the copies that are not open, up to the last."""
    again = f"To go on: make class N={last}"
    failed = 0
    for copy in copies.missing(CLASS, int(last)):
        step(f"Opening copy {copy.name}")
        copies.make(copy)
        failed += not copies.start(copy)
        if interrupts:
            stop(again)
    copies.write_handout(CLASS)
    print(f"The handout, with the passwords: {CLASS}/handout.md")
    if failed:
        stop(f"Copies that did not start: {failed}. To try again, type: make class N={last}")


def print_status() -> None:
    """Print each copy's results as a table, or with CSV=1 for a gradebook."""
    found = read_copies(CLASS)
    print(as_csv(found) if os.environ.get("CSV") else as_table(found, time.time()))


def reset(who: str) -> None:
    """Restore a copy as shipped."""
    again = f"Type it again: make class-reset WHO={who}"
    copy = CLASS / who.zfill(2)
    if copy not in made(CLASS):
        stop(f"There is no copy {who}; make class-status lists them.")
    step(f"Removing the stack of copy {copy.name} and starting it again")
    copies.make_again(copy)
    if not copies.start(copy) or interrupts:
        stop(again)
    print(f"Copy {copy.name} is as shipped, with its passwords. The old files: {CLASS}/{copy.name}.before")


def down() -> None:
    """Remove the stacks of all copies, and put their files aside, with everyone's results."""
    (CLASS / "results.csv").write_text(as_csv(read_copies(CLASS)) + "\n")
    for copy in made(CLASS):
        copies.remove_stack(copy)
        print(f"  copy {copy.name} is removed", flush=True)
    copies.put_aside(CLASS)
    print(f"Until the next class is closed, {CLASS}.before has the learners' files and results.csv.")


COMMANDS: dict[str, Callable[..., None]] = {
    **{"check": check, "room": room, "open": open_class},
    **{"status": print_status, "reset": reset, "down": down},
}

if __name__ == "__main__":
    note_interrupts()
    try:
        COMMANDS[sys.argv[1]](*sys.argv[2:])
    except subprocess.CalledProcessError:  # the program has printed the error
        stop("Not all of it is done: type it again.")
    except OSError as error:
        stop(str(error))
