"""Looks at a service's memory while something else is going on."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self

from bench.house import House

EVERY = 0.2  # seconds from an answer of the engine to the next question; it takes up to a second to answer


class Memory:
    """A context: inside it, a service's memory is noted as often as the engine tells it, at least once."""

    def __init__(self, house: House, service: str) -> None:
        self.house, self.service = house, service
        self.samples: list[tuple[float, int]] = []  # seconds since 1970, bytes
        self._over = threading.Event()
        self._pool = ThreadPoolExecutor(1)

    def __enter__(self) -> Self:
        self._looking = self._pool.submit(self._look)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._pool.shutdown()
        self._looking.result()  # raises what the engine had to complain about

    def _look(self) -> None:
        while True:
            size = self.house.memory_bytes(self.service)
            self.samples.append((time.time(), size))
            if self._over.wait(EVERY):
                return

    def most(self) -> int:
        """The highest of the samples, bytes."""
        return max(size for _, size in self.samples)

    def between(self, begin: float, end: float) -> list[int]:
        """The samples of a span of time, bytes; `begin` and `end` in seconds since 1970."""
        return [size for moment, size in self.samples if begin <= moment <= end]
