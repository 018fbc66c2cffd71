"""What a long command tells its user: steps, and after Ctrl-C what is there now.

The program that runs in the foreground gets the signal, too, and ends by itself.
"""

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

BEGAN = time.monotonic()
INTERRUPTED = 130
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

interrupts: list[int] = []  # the signals that have come


def step(text: str) -> None:
    """Print what begins now."""
    print(f"==> {text} ({time.monotonic() - BEGAN:.0f} s)", flush=True)


def note_interrupts() -> None:
    """Note signals from now on, instead of ending."""

    def note(number: int, _frame: object) -> None:
        interrupts.append(number)

    for each in SIGNALS:
        signal.signal(each, note)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Let signals do nothing, neither here nor in the programs that are started meanwhile."""
    handlers = [signal.signal(each, signal.SIG_IGN) for each in SIGNALS]
    yield
    for each, handler in zip(SIGNALS, handlers):  # noqa: B905  Python 3.9
        signal.signal(each, handler)


def stop(message: str) -> NoReturn:
    """Exit with what happened and what to type; after Ctrl-C with its own status."""
    if interrupts:
        print(f"Interrupted. {message}", file=sys.stderr)
        sys.exit(INTERRUPTED)
    sys.exit(message)
