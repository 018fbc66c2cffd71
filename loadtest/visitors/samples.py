"""The one place that times what happens on a line and reports it to Locust."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from locust.env import Environment

from visitors.line import LineError


class Samples:
    """Rows of one type in Locust's table: `stage`, `ws` or `policy`."""

    def __init__(self, environment: Environment, kind: str) -> None:
        self._environment = environment
        self._kind = kind

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Report what happens inside as one sample; a LineError fails it, and goes on to the caller."""
        begin = time.perf_counter()
        try:
            yield
        except LineError as error:
            self.took(name, (time.perf_counter() - begin) * 1000, str(error))
            raise
        self.took(name, (time.perf_counter() - begin) * 1000)

    def took(self, name: str, milliseconds: float, fault: str | None = None, length: int = 0) -> None:
        """Report one sample; `fault` says why it failed, in words that are equal for equal faults."""
        self._environment.events.request.fire(  # type: ignore[no-untyped-call]
            request_type=self._kind,
            name=name,
            response_time=milliseconds,
            response_length=length,
            exception=LineError(fault) if fault else None,
            context={},
        )
