"""Starting a copy as its learner would, and the reason if it does not start."""

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from classroom.checkout import REPO, environment
from classroom.class_state import ClassState
from classroom.engine import Commands, EngineError
from classroom.plan import Copy

SIDE_BY_SIDE = os.cpu_count() or 1
LOGS = REPO / ".run" / "logs"
LINES, LETTERS = 5, 200  # of a reason: one line for each service of the core


@dataclass(frozen=True)
class Outcome:
    """How a task for one copy has ended."""

    copy: Copy
    seconds: float
    reason: str = ""  # why it failed


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
