"""Samples a service's memory and processes while a load runs."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Self

from bench.lab_stack import LabStack, Usage

EVERY = 0.2  # seconds between a response of the engine and the next request; a response takes up to a second


class Memory:
    """A context in which a service's use is sampled as often as the engine answers, at least once."""

    def __init__(self, stack: LabStack, service: str) -> None:
        self.stack, self.service = stack, service
        self.samples: list[tuple[float, Usage]] = []  # seconds since 1970
        self._over = threading.Event()
        self._pool = ThreadPoolExecutor(1)

    def __enter__(self) -> Self:
        self._sampling = self._pool.submit(self._sample)
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._pool.shutdown()
        self._sampling.result()  # raises the engine's error, if there was one

    def _sample(self) -> None:
        while True:
            usage = self.stack.usage([self.service])[self.service]
            self.samples.append((time.time(), usage))
            if self._over.wait(EVERY):
                return

    def highest(self) -> int:
        """The most memory of any sample, bytes."""
        return max(usage.memory_bytes for _, usage in self.samples)

    def between(self, begin: float, end: float) -> list[Usage]:
        """The samples of a span of time; `begin` and `end` in seconds since 1970."""
        return [usage for moment, usage in self.samples if begin <= moment <= end]
