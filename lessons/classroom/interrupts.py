"""Ctrl-C, and the other signals that end a command."""

import signal
from types import FrameType

INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def handle_interrupts() -> None:
    """From now on the first signal raises KeyboardInterrupt, and the next ones have no effect, so that
    nothing is left behind."""
    for name in INTERRUPTS:
        signal.signal(name, _interrupt)


def ignore_interrupts() -> None:
    """From now on Ctrl-C has no effect here. (SIG_IGN would be inherited by programs, which then could not
    be ended.)"""
    for name in INTERRUPTS:
        signal.signal(name, lambda number, frame: None)


def _interrupt(number: int, frame: FrameType | None) -> None:
    ignore_interrupts()
    raise KeyboardInterrupt
