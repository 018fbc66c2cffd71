"""Samples a service's memory while a load runs."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self

from bench.lab_stack import LabStack

EVERY = 0.2  # seconds between a response of the engine and the next request; a response takes up to a second


class Memory:
    """A context in which a service's memory is sampled as often as the engine answers, at least once."""

    def __init__(self, stack: LabStack, service: str) -> None:
        self.stack, self.service = stack, service
        self.samples: list[tuple[float, int]] = []  # seconds since 1970, bytes
        self._over = threading.Event()
        self._pool = ThreadPoolExecutor(1)

    def __enter__(self) -> Self:
        self._sampling = self._pool.submit(self._sample)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._pool.shutdown()
        self._sampling.result()  # raises the engine's error, if there was one

    def _sample(self) -> None:
        while True:
            size = self.stack.memory_bytes(self.service)
            self.samples.append((time.time(), size))
            if self._over.wait(EVERY):
                return

    def highest(self) -> int:
        """The highest sample, bytes."""
        return max(size for _, size in self.samples)

    def between(self, begin: float, end: float) -> list[int]:
        """The samples of a span of time, bytes; `begin` and `end` in seconds since 1970."""
        return [size for moment, size in self.samples if begin <= moment <= end]
