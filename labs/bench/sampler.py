"""Reads a value repeatedly while a load runs."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, Self, TypeVar

Reading = TypeVar("Reading")


class Sampler(Generic[Reading]):
    """A context in which `read` is called at least once, and again `pause` seconds after each return."""

    def __init__(self, read: Callable[[], Reading], pause: float) -> None:
        self.samples: list[tuple[float, Reading]] = []  # each with its time in seconds since 1970
        self._read, self._pause = read, pause
        self._over = threading.Event()
        self._pool = ThreadPoolExecutor(1)

    def __enter__(self) -> Self:
        self._sampling = self._pool.submit(self._sample)
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._pool.shutdown()
        self._sampling.result()  # raises the error of `read`, if there was one

    def take(self) -> None:
        """Take one sample."""
        reading = self._read()
        self.samples.append((time.time(), reading))

    def _sample(self) -> None:
        while True:
            self.take()
            if self._over.wait(self._pause):
                return
