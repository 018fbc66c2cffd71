"""Samples a service's memory and processes while a load runs."""

from labs.bench.lab_stack import LabStack, Usage
from labs.bench.sampler import Sampler

PAUSE = 0.2  # seconds from a response of the engine to the next request; a response takes up to a second


class Memory(Sampler[Usage]):
    """A context in which a service's use is sampled as often as the engine answers, at least once."""

    def __init__(self, stack: LabStack, service: str) -> None:
        super().__init__(lambda: stack.usage([service])[service], PAUSE)

    def highest(self) -> int:
        """Return the largest memory of any sample, in bytes."""
        return max(usage.memory_bytes for _, usage in self.samples)

    def between(self, begin: float, end: float) -> list[Usage]:
        """Return the samples of a span of time; `begin` and `end` are in seconds since 1970."""
        return [usage for moment, usage in self.samples if begin <= moment <= end]
