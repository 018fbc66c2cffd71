"""`make class N=20`: opens what is missing. A copy that does not start is tried once more, then left out."""

import shutil
import sys
import time
from collections.abc import Mapping

from classroom.checkout import REPO, git, make_checkout
from classroom.class_state import ClassState, Entry
from classroom.engine import Commands, remove
from classroom.handout import handout_table, write_handout
from classroom.interrupts import ignore_interrupts
from classroom.plan import Copy, count
from classroom.room import check_room
from classroom.starting import LOGS, SIDE_BY_SIDE, Outcome, side_by_side, start


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
