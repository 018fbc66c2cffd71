"""`make mirror TO=…`: moves all users, with all data, from the active server to the other one: FROM TO.

bin/mirror has chosen the Compose files of both. Works on Python 3.9, too, as backups.py does.
"""

import os
import subprocess
import sys
from pathlib import Path

from proscenium.backups import Failed, ask
from proscenium.running import NotRunning, running
from proscenium.terminal import interrupts, note_interrupts, step, stop, undisturbed

STATE = Path(".run", os.environ["COMPOSE_PROJECT_NAME"])
ACTIVE = STATE / "mirror-is-active"  # the file is there while it is
FILES = "extras/mirror/active.yaml"  # further settings while it is


def compose(*arguments: str, **settings: str) -> None:
    """Run Compose, with its output in a log file. Raise Failed."""
    log = Path(".run/logs", f"mirror-{os.environ['COMPOSE_PROJECT_NAME']}.log")
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as output:
        command = ["docker", "compose", *arguments]
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env={**os.environ, **settings}
        )
    if done.returncode:
        print("\n".join(log.read_text().splitlines()[-30:]), file=sys.stderr)
        raise Failed(done.returncode)


def move(active: str, other: str, archive: Path) -> None:
    """Bring the data to the other server: until it has them, the active one goes on. Raise Failed."""
    with archive.open("wb") as output:
        command = running().aside(active, "backup")
        status = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output).returncode
    if status or interrupts:
        raise Failed(status)
    print(ask(running().aside(other, "restore", "--move"), str(archive)), flush=True)
    if interrupts:
        raise Failed(0)


def main(active: str, other: str) -> None:
    """Move everyone to the other server."""
    note_interrupts()
    os.umask(0o077)  # the archive has all accounts and sign-ins
    archive = STATE / "mirror.tar.gz"
    step(f"Stopping {active}: caches answer until {other} has its data")
    try:
        running().stop(active)
        step(f"Moving the data from {active} to {other}")
        compose("up", "--no-start", "--no-deps", "--scale", f"{other}=1", other)  # its volumes
        move(active, other, archive)
    except (Failed, NotRunning) as error:
        if isinstance(error, NotRunning):
            print(error, file=sys.stderr)
        with undisturbed():
            running().stop(active)  # an interrupted stop still goes on
            running().start(active)
        stop(f"Nothing has been moved: {active} goes on.")
    finally:
        archive.unlink(missing_ok=True)
    files = os.environ["COMPOSE_FILE"]
    if other == "mirror":
        ACTIVE.touch()
        files += f":{FILES}"
    else:
        ACTIVE.unlink(missing_ok=True)
    step(f"Starting {other}")
    try:
        compose("up", "-d", "--no-deps", "--wait", other, COMPOSE_FILE=files)
        compose("rm", "--force", active, COMPOSE_FILE=files)
    except Failed:
        stop(f"The data are on {other}: once the reason is mended, type: make up")
    if interrupts:
        stop(f"The data are on {other}. Type: make up")
    print(f"active: {other}")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except NotRunning as error:
        stop(str(error))
