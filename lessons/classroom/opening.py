"""`make class N=20`: opens what is missing. A copy that does not start is tried once more, then left out."""

import os
import re
import shutil
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from lessons.classroom.checkout import REPO, environment, git, make_checkout
from lessons.classroom.class_state import ClassState, Entry
from lessons.classroom.engine import Commands, EngineError, ignore_interrupts, remove
from lessons.classroom.handout import handout_table, write_handout
from lessons.classroom.plan import PUBLISHED, Copy, PlanError, count, overlapping, parse_routes

MEMORY = 230  # MiB that a copy and the engine's part for it take: docs/teaching-class.md
SIDE_BY_SIDE = os.cpu_count() or 1
LOGS = REPO / ".run" / "logs"
LINES, LETTERS = 5, 200  # of a reason: one line for each service of the core


@dataclass(frozen=True)
class Outcome:
    """How a task for one copy has ended."""

    copy: Copy
    seconds: float
    reason: str = ""  # why it failed


def open_class(opened: ClassState, number: int) -> int:
    """Open the missing copies up to a number; return the exit code.

    1: some did not start; the others stay open. An error that concerns all of them, and Ctrl-C, remove all
    that this command has opened. Raise PlanError or EngineError.
    """
    new = [opened.plan.copy(one) for one in range(1, number + 1) if one not in opened.entries]
    if not new:
        write_handout(opened)
        print(f"{count(number, 'copy is', 'copies are')} open. {where(opened)}")
        return 0
    check_room(opened, new)
    warn(opened)
    began = time.monotonic()
    commands = Commands()
    opened.entries |= {copy.number: Entry() for copy in new}
    wanted = len(opened.entries)
    try:
        print(f"Copying the last commit into {count(len(new), 'folder')}", flush=True)
        for copy in new:
            make_checkout(opened, copy)
        opened.save()
        failed = start_all(opened, new, commands)
        drop(opened, [copy for copy in new if copy.number in failed])
    except BaseException as error:
        give_up(opened, new, commands)
        if isinstance(error, KeyboardInterrupt):
            print("Everything that this command had opened is removed.", file=sys.stderr)
        raise
    if opened.entries:
        write_handout(opened)
        took, started = time.monotonic() - began, len(new) - len(failed)
        copies = count(started, "copy", "copies")
        print(f"\n{handout_table(opened)}\n{copies} opened in {took:.0f} s. {where(opened)}")
    if failed:
        print(summary(len(opened.entries), wanted, number, failed), file=sys.stderr)
    return 1 if failed else 0


def where(opened: ClassState) -> str:
    """Where the handout is."""
    folder = opened.folder.relative_to(REPO)
    return f"The handout, with the passwords: {folder}/handout.md and handout.csv"


def warn(opened: ClassState) -> None:
    """Warn about settings with surprising effects."""
    changed = git("status", "--porcelain", "--untracked-files=no")
    if changed.returncode or changed.stdout:
        print(
            "This checkout has changes that are not committed: the copies get the last commit without them."
        )
    settings = opened.settings
    if settings.get("BIND_ADDR", "127.0.0.1") != "127.0.0.1" and not settings.get("SERVER_NAMES"):
        print("BIND_ADDR lets other machines in, but SERVER_NAMES is empty: nginx answers them with 421.")


def check_room(opened: ClassState, new: list[Copy]) -> None:
    """Raise PlanError if folders, ports, subnets or memory for the new copies are not free."""
    for copy in new:
        if opened.folder_of(copy).exists():
            raise PlanError(f"{opened.folder_of(copy)} exists, but belongs to no open copy. Remove it first.")
    address = opened.settings.get("BIND_ADDR", "127.0.0.1")
    for copy in new:
        for name in PUBLISHED:
            if _taken(address, copy.port(name)):
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
    memory = Path("/proc/meminfo").read_text()
    free = int(re.findall(r"^MemAvailable: +(\d+)", memory, re.M)[0]) // 1024  # MiB that programs can take
    if free < MEMORY * len(new):
        raise PlanError(
            f"{count(len(new), 'copy takes', 'copies take')} about {MEMORY * len(new)} MiB, "
            f"and {free} MiB are available: room for {free // MEMORY}"
        )


def _taken(address: str, port: int) -> bool:
    """Whether a program listens on that port."""
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((address, port))
        except OSError:
            return True
    return False


def start_all(opened: ClassState, new: list[Copy], commands: Commands) -> dict[int, str]:
    """Start the copies, some at a time, then once more those that have failed, one after another.

    Return the reason of each copy that has failed twice, by its number. If no copy has started after the
    first of these second attempts, the others are not tried: the reason concerns all of them.
    """
    failed: dict[int, str] = {}

    def again(copy: Copy) -> None:
        remove(copy)
        start(opened, copy, commands)

    print(f"Starting {count(len(new), 'stack')}, {SIDE_BY_SIDE} at a time", flush=True)
    for outcome in side_by_side(new, lambda copy: start(opened, copy, commands)):
        note(outcome, failed)
    if failed:
        print("Once more, one at a time: copies that did not start", flush=True)
    for copy in [copy for copy in new if copy.number in failed]:
        for outcome in side_by_side([copy], again):  # in a thread, so that Ctrl-C reaches this one
            note(outcome, failed)
        if len(failed) == len(new):
            break
    return failed


def note(outcome: Outcome, failed: dict[int, str]) -> None:
    """Print how the start of a copy has ended; keep the reason if it failed."""
    copy, why, after = outcome.copy, outcome.reason, f"({outcome.seconds:.0f} s)"
    if why:
        failed[copy.number] = why
    else:
        failed.pop(copy.number, None)
    said = f"did not start {after}: {why}" if why else f"is running {after}"
    print(f"  copy {copy.name} {said}", flush=True)


def summary(running: int, wanted: int, number: int, failed: Mapping[int, str]) -> str:
    """What is open, and why the others are not: one line for each reason."""
    lines = [f"{running} of {count(wanted, 'copy is', 'copies are')} open."]
    for reason in dict.fromkeys(failed.values()):
        numbers = [str(one) for one, why in sorted(failed.items()) if why == reason]
        copies = f"Copy {numbers[0]}" if len(numbers) == 1 else f"Copies {', '.join(numbers)}"
        lines.append(f"{copies} did not start: {reason.rstrip('.')}.")
    lines.append(f"Try it again: make class N={number}")
    return " ".join(lines) + f"\n(All that `make up` printed there: {LOGS.relative_to(REPO)}/class-NN.log)"


def drop(opened: ClassState, copies: list[Copy]) -> None:
    """Remove copies with everything they have; without the last one the class is closed."""
    for outcome in side_by_side(copies, remove):
        if outcome.reason:
            number = outcome.copy.number
            print(f"The stack of copy {number} could not be removed: {outcome.reason}", file=sys.stderr)
    for copy in copies:
        shutil.rmtree(opened.folder_of(copy), ignore_errors=True)
        opened.entries.pop(copy.number, None)
    if opened.entries:
        opened.save()
    else:
        shutil.rmtree(opened.folder, ignore_errors=True)


def give_up(opened: ClassState, new: list[Copy], commands: Commands) -> None:
    """Remove the copies that an interrupted or failed command has opened; Ctrl-C does not stop this."""
    ignore_interrupts()
    print("Removing what this command has opened ...", file=sys.stderr, flush=True)
    commands.end()
    time.sleep(1)  # the engine may still be at work on the last request of a command that was ended
    drop(opened, new)


# --- Starting a copy as its learner would, and the reason if it does not start.


def start(opened: ClassState, copy: Copy, commands: Commands) -> None:
    """Run `make up` in a copy, with its settings only. Raise EngineError with the reason if it fails; all
    that it has printed is then in .run/logs."""
    try:
        commands.run("bin/up", folder=opened.folder_of(copy), environment=environment(os.environ))
    except EngineError as error:
        LOGS.mkdir(parents=True, exist_ok=True)
        log_of(copy).write_text(f"{error}\n")
        raise EngineError(reason_in(str(error))) from None


def log_of(copy: Copy) -> Path:
    """All that the last start of a copy printed, if it failed."""
    return LOGS / f"class-{copy.name}.log"


def reason_in(printed: str) -> str:
    """The reason in the output of a failed `make up`, on one line.

    It ends with `varnish did not become healthy.` and a line for each service that is meant, with `Failed:`
    after the output of a program, or with one line that says all.
    """
    lines = [line.strip() for line in printed.splitlines() if line.strip()] or ["it printed nothing"]
    begins = next((n for n, line in enumerate(lines) if line.endswith("did not become healthy.")), None)
    if begins is None:
        begins = -2 if lines[-1].startswith("Failed:") else -1
    said = [line if len(line) <= LETTERS else line[:LETTERS] + "…" for line in lines[begins:]]
    return " ".join(said[: LINES + 1])


def side_by_side(copies: list[Copy], task: Callable[[Copy], None]) -> Iterator[Outcome]:
    """Run a task for each copy, some at a time; yield each outcome when it is known.

    A task fails with EngineError; any other error ends them all.
    """
    pool = ThreadPoolExecutor(SIDE_BY_SIDE)
    try:
        pending = {pool.submit(_timed, copy, task) for copy in copies}
        while pending:
            # Not for ever: a signal that comes just before a wait is handled after it.
            ended, pending = wait(pending, timeout=1, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in ended)
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


def _timed(copy: Copy, task: Callable[[Copy], None]) -> Outcome:
    began, reason = time.monotonic(), ""
    try:
        task(copy)
    except EngineError as error:
        reason = str(error)
    return Outcome(copy, time.monotonic() - began, reason)
