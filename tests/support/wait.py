"""Wait for a condition, with a limit."""

import http.client
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(
    check: Callable[[], T], within: float = 60, every: float = 0.05, report: Callable[[], str] = str
) -> T:
    """Repeat `check` until it returns something true, and return that.

    An OSError, HTTPException or AssertionError means "not yet"; the last of them is raised after `within`
    seconds. If the check was merely false: AssertionError with what `report` returns, such as a log.
    """
    deadline = time.monotonic() + within
    while True:
        late = time.monotonic() > deadline
        try:
            if answer := check():
                return answer
            assert not late, f"still false after {within} s: {report()}"
        except (OSError, http.client.HTTPException, AssertionError):
            if late:
                raise
        time.sleep(every)
