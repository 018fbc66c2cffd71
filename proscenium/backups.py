"""`make backup` and `make restore`: COMMAND SERVICE PREFIX; the prefix is that of the service's backups.

Works on Python 3.9, too: a machine with containers alone may have no newer one.
"""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

from proscenium.running import NotRunning, running
from proscenium.terminal import interrupts, note_interrupts, step, stop, undisturbed

NAMES = "-[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]_[0-9][0-9]-[0-9][0-9]-[0-9][0-9].tar.gz"
NO_NEW = "There is no new backup; earlier ones are kept."


class Failed(Exception):
    """A program has failed, and has printed why; `status` is its exit status."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def ask(command: list[str], given: str = os.devnull) -> str:
    """Return what a program prints that reads a file. Raise Failed."""
    with open(given, "rb") as file:
        done = subprocess.run(command, stdin=file, stdout=subprocess.PIPE)
    if done.returncode:
        raise Failed(done.returncode)
    return done.stdout.decode().rstrip("\n")


def made_before(prefix: Path) -> list[Path]:
    """Return the backups with a date, the newest last: their names have the time, in UTC."""
    return sorted(prefix.parent.glob(prefix.name + NAMES))


def write(service: str, file: Path) -> str:
    """Write a backup; return what is in it. It gets its name when it has been read back."""
    part = file.with_name(f".{file.name}.part")
    try:
        with part.open("wb") as output:
            command = running().upstage_in(service, "backup")
            status = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output).returncode
        if interrupts:
            stop(NO_NEW)
        if status:
            why = f"in {service} it ended with status {status}. make status and make logs may say why"
            stop(f"There is no new backup: {why}; earlier ones are kept.")
        content = ask(running().upstage_in(service, "restore", "--check"), str(part))
        if interrupts:
            stop(NO_NEW)
        part.rename(file)
        return content
    except Failed:
        stop(NO_NEW if interrupts else "The backup could not be read back; earlier ones are kept.")
    finally:
        part.unlink(missing_ok=True)


def backup(service: str, prefix: Path) -> None:
    """Write a backup into FILE; or with a date beside the earlier ones, of which BACKUP_KEEP stay."""
    note_interrupts()
    os.umask(0o077)  # the file has the accounts
    keep, given = os.environ.get("BACKUP_KEEP") or "7", os.environ.get("FILE")
    if not re.fullmatch("[1-9][0-9]{0,3}", keep):
        stop(f"BACKUP_KEEP must be a number from 1 to 9999, not '{keep}'")
    file = Path(given or f"{prefix}-{time.strftime('%Y-%m-%d_%H-%M-%S', time.gmtime())}.tar.gz")
    if not given:
        prefix.parent.mkdir(exist_ok=True)
    if not file.parent.is_dir():
        stop(f"FILE={file}: there is no such folder.")
    content = write(service, file)
    print(f"{file}, {file.stat().st_size // 1000} kB: {content}")
    if not given:
        for old in made_before(prefix)[: -int(keep)]:
            old.unlink()
            print(f"Removed: {old} (BACKUP_KEEP={keep})")
    theatres = os.environ.get("THEATRES", "").split()
    if theatres and not os.environ.get("THEATRE"):
        print(f"Each theatre has a backup of its own: make backup THEATRE={theatres[0]}")


def restore(service: str, prefix: Path) -> None:
    """Replace all data by those of a backup, FILE or the newest; the service is stopped meanwhile."""
    given, remove = os.environ.get("FILE"), os.environ.get("REMOVE")
    if remove:
        if given:
            stop("REMOVE=replaced restores nothing, so it takes no FILE.")
        if remove != "replaced":
            stop(f"REMOVE is '{remove}'; it can be: replaced.")
        sys.exit(subprocess.run(running().aside(service, "restore", "--remove-replaced")).returncode)
    file = given or next(map(str, reversed(made_before(prefix))), "")
    if not file:
        stop(f"There is no {prefix}-*.tar.gz. Say which backup: make restore FILE=...")
    if not os.access(file, os.R_OK) or not Path(file).is_file():
        stop(f"FILE={file}: there is no such file that you can read.")
    note_interrupts()
    step(f"Checking {file}")
    try:
        print("It has", ask(running().aside(service, "restore", "--check"), file))
    except Failed:
        stop("Nothing has been changed.")
    if interrupts:
        stop("Nothing has been changed.")
    replace(service, file)
    for tag in ("media", "lessons"):
        try:
            ask(running().upstage_in(service, "purge", "/", "--tag", tag))
        except Failed:
            print(f"A cache may have old content until you type: make purge TAG={tag}")
    if interrupts:
        stop(f"The data are replaced, and {service} runs. A cache may have old content: make purge ALL=1")
    theatre = os.environ.get("THEATRE")
    keeps = "All users must sign in again. The admin's password is that of the backup"
    print(f"{keeps}, unless UPSTAGE_ADMIN_PASSWORD sets one.")
    whose = f" THEATRE={theatre}" if theatre else ""
    print(f"To remove what was replaced: make restore REMOVE=replaced{whose}")


def replace(service: str, file: str) -> None:
    """Replace the data, and start the service again, whatever happens. Exit if the data are as before."""
    step("Replacing the data")
    restored = ""
    try:
        running().stop(service)
        if not interrupts:
            restored = ask(running().aside(service, "restore"), file)
            print(restored)
    except Failed:
        pass  # the program has printed why
    except NotRunning as error:
        print(error, file=sys.stderr)
    step(f"Starting {service}")
    with undisturbed():
        if interrupts:
            running().stop(service)  # an interrupted stop still goes on
        running().start(service)
    if interrupts and restored:
        stop(f"The data are replaced, and {service} runs.")
    if interrupts:
        stop(f"{service} runs again, with the data that were there before.")
    if not restored:
        stop("The data are those that were there before.")


if __name__ == "__main__":
    try:
        {"backup": backup, "restore": restore}[sys.argv[1]](sys.argv[2], Path(sys.argv[3]))
    except NotRunning as error:
        stop(str(error))
