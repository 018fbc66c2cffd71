"""Where the time goes: what a request costs all who compute for it, and how many this machine can serve."""

from collections.abc import Mapping
from dataclasses import dataclass

from bench.report.reading import Lab, is_number
from bench.results import Measured

CPU = "cpu_percent."


@dataclass(frozen=True)
class Profile:
    """CPU time of one request, microseconds, and requests per second.

    `rest` is what the machine computed beside the services: the engine that writes their logs, work of the
    kernel that belongs to nobody, other programs. `limit` is where the first core, or all of them,
    can do no more, and `why` says which.
    """

    services: Mapping[str, float]
    rest: float
    measured: float
    limit: float
    why: str

    @property
    def total(self) -> float:
        """Microseconds of everybody together."""
        return sum(self.services.values()) + self.rest


def profile(lab: Lab, cell: Measured) -> Profile | None:
    """The profile of a cell; None where its requests or what the machine computed were not measured.

    One thread can fill one core: the generator's (ab has one, wrk is given one), and UpStage's.
    """
    median, cores = cell.median, lab.results.machine.get("cores") if lab.results else None
    measured, busy = median.get("requests_per_second"), median.get("system_cpu_percent")
    services = {name.removeprefix(CPU): value for name, value in median.items() if name.startswith(CPU)}
    if not services or not measured or busy is None or not is_number(cores):
        return None
    # Per cent of one core -> microseconds for each request.
    a_request = 1e6 / 100 / measured
    rest = max(0.0, busy * cores - sum(services.values()))
    limits = {
        f"{'both' if cores == 2 else f'all {cores}'} cores": cores * 100 / (sum(services.values()) + rest)
    }
    # What its thread itself has computed; the service computes a little beside it, to start it.
    if thread := median.get("generator_cpu_percent"):
        limits["the generator's one core"] = 100 / thread
    if process := services.get("backend"):
        limits["UpStage's one core"] = 100 / process
    why = min(limits, key=lambda name: limits[name])
    return Profile(
        {name: value * a_request for name, value in services.items()},
        rest * a_request,
        measured,
        # The clocks are not exact, but what was measured is possible.
        measured * max(1.0, limits[why]),
        why,
    )
