"""Samples for Locust's table of all that Locust's own HTTP client does not report."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from locust.env import Environment

from users.connection import StageError


class Samples:
    """Rows of one type in Locust's table: `stage`, `ws`, `policy`, `arrival` or `crawl`."""

    def __init__(self, environment: Environment, kind: str) -> None:
        self._environment = environment
        self._kind = kind

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Report the block as one sample; a StageError makes it a failure, and is raised again."""
        begin = time.perf_counter()
        try:
            yield
        except StageError as error:
            self.record(name, (time.perf_counter() - begin) * 1000, str(error))
            raise
        self.record(name, (time.perf_counter() - begin) * 1000)

    def record(self, name: str, milliseconds: float, fault: str | None = None, length: int = 0) -> None:
        """Report one sample. `fault` is the reason for a failure; equal faults have equal texts."""
        self._environment.events.request.fire(
            request_type=self._kind,
            name=name,
            response_time=milliseconds,
            response_length=length,
            exception=StageError(fault) if fault else None,
            context={},
        )
