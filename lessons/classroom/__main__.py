"""The commands for a class: `open N`, `status`, `reset WHO`, `down`. Run by bin/class.

`check COMMAND ...` runs none: it only says what is wrong with the number and the settings.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType

from classroom.checkout import REPO, environment, make_checkout, put_aside
from classroom.class_state import ClassState, Entry
from classroom.engine import Commands, EngineError, remove
from classroom.plan import PUBLISHED, Copy, PlanError, overlapping, parse_number, parse_routes
from classroom.status import as_json, as_table, states

FOLDER = REPO / ".run" / "class"
MEMORY = 230  # MiB that a copy and the engine's part for it take: docs/teaching-class.md
INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SIDE_BY_SIDE = os.cpu_count() or 1


def main(arguments: list[str]) -> int:
    """Run one command; return the exit code."""
    check = arguments[0] == "check"
    command, value, *_ = *arguments[check:], ""
    for name in INTERRUPTS:
        signal.signal(name, interrupt)
    try:
        opened = ClassState.load(FOLDER, os.environ)
        if command == "open":
            number = parse_number("N", value)
            opened = opened or ClassState.new(FOLDER, os.environ["COMPOSE_PROJECT_NAME"], os.environ)
            opened.plan.copy(number)  # there are ports and addresses for the last one
            return 0 if check else open_class(opened, number)
        number = parse_number("WHO", value) if command == "reset" else 0
        if check:
            return 0
        if opened is None:
            print("No class is open. Type: make class N=20")
            return 0
        if command == "status":
            found = states(opened)
            print(as_json(found) if os.environ.get("JSON") else as_table(found))
            return 0
        return reset(opened, number) if command == "reset" else close(opened)
    except (PlanError, EngineError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return 130


def interrupt(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt, and ignore the next signals, so that nothing is left behind."""
    ignore_interrupts()
    raise KeyboardInterrupt


def ignore_interrupts() -> None:
    """From now on Ctrl-C has no effect."""
    for name in INTERRUPTS:
        signal.signal(name, signal.SIG_IGN)


def open_class(opened: ClassState, number: int) -> int:
    """Open the missing copies up to a number; if one fails, remove all new ones."""
    new = [opened.plan.copy(one) for one in range(1, number + 1) if one not in opened.entries]
    if not new:
        print(f"{number} copies are open. {where(opened)}")
        return 0
    check_room(opened, new)
    warn(opened)
    began = time.monotonic()
    commands = Commands()
    opened.entries |= {copy.number: Entry() for copy in new}
    try:
        print(f"Copying the last commit into {len(new)} folders")
        for copy in new:
            make_checkout(opened, copy)
        opened.save()
        print(f"Starting {len(new)} stacks, {SIDE_BY_SIDE} at a time")
        side_by_side(new, lambda copy: start(opened, copy, commands))
    except BaseException as error:
        give_up(opened, new, commands)
        if isinstance(error, KeyboardInterrupt):
            print("Everything that this command had opened is removed.", file=sys.stderr)
        raise
    took = time.monotonic() - began
    print(f"\n{opened.handout_markdown()}\n{len(new)} copies opened in {took:.0f} s. {where(opened)}")
    return 0


def where(opened: ClassState) -> str:
    """Where the handout is."""
    folder = opened.folder.relative_to(REPO)
    return f"The handout: {folder}/handout.md and handout.csv"


def check_room(opened: ClassState, new: list[Copy]) -> None:
    """Raise PlanError if folders, ports, subnets or memory for the new copies are not free."""
    for copy in new:
        if opened.folder_of(copy).exists():
            raise PlanError(f"{opened.folder_of(copy)} exists, but belongs to no open copy. Remove it first.")
    address = opened.settings.get("BIND_ADDR", "127.0.0.1")
    for copy in new:
        for name in PUBLISHED:
            if taken(address, copy.port(name)):
                raise PlanError(
                    f"Port {copy.port(name)} of copy {copy.number} is taken by another program. "
                    "Choose other ports, such as: CLASS_PORTS=30000"
                )
    routes = Path("/proc/net/route")
    known = parse_routes(routes.read_text()) if routes.exists() else []
    for subnet, route in overlapping(new, known):
        raise PlanError(
            f"{subnet} is in use: this machine has a route to {route}. Choose another range, such as: "
            "CLASS_SUBNETS=10.99.0.0/18"
        )
    free = available_memory()
    if free < MEMORY * len(new):
        raise PlanError(
            f"{len(new)} copies take about {MEMORY * len(new)} MiB, and {free} MiB are available: "
            f"room for {free // MEMORY}"
        )


def taken(address: str, port: int) -> bool:
    """Whether a program listens on that port."""
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((address, port))
        except OSError:
            return True
    return False


def available_memory() -> int:
    """MiB that programs can take."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("MemAvailable"))


def warn(opened: ClassState) -> None:
    """Warn about settings with surprising effects."""
    changed = subprocess.run(
        ["git", "status", "--porcelain", "--untracked-files=no"],
        cwd=REPO,
        capture_output=True,
        text=True,
        check=False,
    )
    if changed.stdout:
        print(
            "This checkout has changes that are not committed: the copies get the last commit without them."
        )
    settings = opened.settings
    if settings.get("BIND_ADDR", "127.0.0.1") != "127.0.0.1" and not settings.get("SERVER_NAMES"):
        print("BIND_ADDR lets other machines in, but SERVER_NAMES is empty: nginx answers them with 421.")


def start(opened: ClassState, copy: Copy, commands: Commands) -> None:
    """Start a copy as its learner would, with its settings only."""
    try:
        commands.run("bin/up", folder=opened.folder_of(copy), environment=environment(os.environ))
    except EngineError as error:
        raise EngineError(f"{error}\nCopy {copy.number} does not start.") from None
    print(f"  copy {copy.name} is running", flush=True)


def side_by_side(copies: list[Copy], task: Callable[[Copy], None]) -> None:
    """Run a task for each copy, some at a time; raise the first error immediately."""
    pool = ThreadPoolExecutor(SIDE_BY_SIDE)
    try:
        for future in [pool.submit(task, copy) for copy in copies]:
            future.result()
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


def give_up(opened: ClassState, new: list[Copy], commands: Commands) -> None:
    """Remove the copies that an interrupted or failed command has opened; Ctrl-C does not stop this."""
    ignore_interrupts()
    print("Removing what this command has opened ...", file=sys.stderr)
    commands.end()
    time.sleep(1)  # the engine may still be at work on the last request of a command that was ended
    side_by_side(new, remove)
    for copy in new:
        shutil.rmtree(opened.folder_of(copy), ignore_errors=True)
        opened.entries.pop(copy.number, None)
    if opened.entries:
        opened.save()
    else:
        shutil.rmtree(opened.folder, ignore_errors=True)


def reset(opened: ClassState, number: int) -> int:
    """Restore a copy's files, data and lessons as shipped. Its passwords stay; its old files are set
    aside."""
    if number not in opened.entries:
        raise PlanError(f"There is no copy {number}; make class-status lists them.")
    copy = opened.plan.copy(number)
    folder = opened.folder_of(copy)
    remove(copy)
    before = put_aside(folder) if folder.exists() else None
    make_checkout(opened, copy)
    opened.save()
    if before:
        # The learner's account owns the folder, if the teacher has given it to one.
        subprocess.run(["chown", "-R", f"--reference={before}", str(folder)], check=False)
    start(opened, copy, Commands())
    print(f"Copy {copy.name} is as shipped again, with its old passwords.")
    if before:
        print(f"The old files: {before.relative_to(REPO)}, until the next reset")
    return 0


def close(opened: ClassState) -> int:
    """Remove every copy's stack and data; keep the folders until the next class is closed."""
    results = as_json(states(opened))
    side_by_side(opened.copies, remove)
    (opened.folder / "results.json").write_text(results + "\n")
    closed = put_aside(opened.folder)
    print(
        f"{len(opened.copies)} stacks and their data are removed. The learners' files, the handout and the "
        f"results: {closed.relative_to(REPO)}, until the next class is closed"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
