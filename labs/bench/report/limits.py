"""Computes how near a configuration came to this machine's limit, from the run's own figures."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from labs.bench.report.reading import Lab
from labs.bench.results import Measured
from labs.bench.words import is_number

CPU, MEMORY = "cpu_percent.", "memory_percent."
GENERATOR = "generator_cpu_percent"
RATE = "requests_per_second"
AT_WORK = 0.05  # the least part of the services' CPU time


@dataclass(frozen=True)
class Use:
    """The part of the machine that a measured cell used.

    `full` is the resource nearest to its end and `share` how much of it was used, 0 to 1. `rate` is that of
    the requests, if there is one, and `limit` the rate at which that resource would be full. `services` is
    the CPU time of one request by service, in microseconds, and `rest` that of everything else: the engine,
    which writes the logs, the kernel's own work, other programs.
    """

    full: str
    share: float
    rate: float | None = None
    limit: float | None = None
    services: Mapping[str, float] = field(default_factory=dict)
    rest: float = 0.0

    @property
    def total(self) -> float:
        """The CPU time of one request, microseconds."""
        return sum(self.services.values()) + self.rest


def use(lab: Lab, cell: Measured) -> Use | None:
    """The use of a cell; None if the run did not measure it.

    A generator that never sleeps (httperf) hides how busy the machine is; its driver reports no
    generator_cpu_percent.
    """
    median, cores = cell.median, lab.results.machine.get("cores")
    percents = {name.removeprefix(CPU): value for name, value in median.items() if name.startswith(CPU)}
    busy = median.get("system_cpu_percent")
    if not percents or busy is None or GENERATOR not in median or not is_number(cores):
        return None
    # The engine's clock of the services and the kernel's of the machine differ a little: the higher figure
    # counts.
    computed = max(busy * cores, sum(percents.values()))
    one_core = {GENERATOR: "the generator's one core", **lab.one_core}
    shares = {f"all {cores} cores": computed / cores / 100}
    shares |= {words: median[name] / 100 for name, words in one_core.items() if name in median}
    # Memory of the services at work: that of an idle one, filled by another cell, limits nothing here.
    memory = {
        f"memory of {name}": median[MEMORY + name] / 100
        for name, percent in percents.items()
        if percent > AT_WORK * sum(percents.values()) and MEMORY + name in median
    }
    full = max(shares | memory, key=lambda name: (shares | memory)[name])
    share = min(1.0, (shares | memory)[full])
    rate = median.get(RATE)
    if not rate or not share:
        return Use(full, share)
    each = 1e4 / rate  # per cent of a core -> microseconds a request
    return Use(
        full,
        share,
        rate,
        None if full in memory else rate / share,  # memory does not grow with the rate
        {name: percent * each for name, percent in percents.items()},
        (computed - sum(percents.values())) * each,
    )
