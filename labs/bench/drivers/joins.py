"""Many clients join a stage at the same instant, while others talk on it.

labs/bench/clients/joins.py is the client; its docstring explains the settings `stage`, `joins`, `speakers`,
`lines_per_second` and `seconds`. The backend is restarted first: so it has seen no earlier joins, and has
loaded the drawing that the lab has put into its database.
"""

from collections.abc import Mapping
from typing import Any

from labs.bench.drivers import report, talk
from labs.bench.lab_stack import LabStack, Problem
from labs.bench.memory import Memory
from labs.bench.percentile import percentile

BUSY = 90.0  # per cent of one core; a generator that uses more is the bottleneck


def measure(stack: LabStack, settings: Mapping[str, Any]) -> dict[str, float]:
    """Make one measurement. Raise Problem if a line or a join is lost, or the generator is the bottleneck."""
    stack.restart("backend")
    before = stack.usage(["nginx", "backend"])
    with Memory(stack, "nginx") as nginx, Memory(stack, "backend") as backend:
        found = report(stack, settings, "joins")
    after = stack.usage(["nginx", "backend"])
    figures = metrics(found)
    for name, memory in (("nginx", nginx), ("backend", backend)):
        figures[f"{name}_memory_bytes"] = memory.highest()
        # The seconds include the talk, which costs little compared with the joins.
        figures[f"{name}_cpu_milliseconds"] = (after[name].cpu_seconds - before[name].cpu_seconds) * 1000
    return figures


def metrics(found: Mapping[str, Any]) -> dict[str, float]:
    """Return the figures of a report of labs/bench/clients/joins.py; raise Problem as `measure` does."""
    joins, used = found["joins"], found["cpu_percent"]
    figures = talk(found)
    if joins:
        used += joins["cpu_percent"]
        if used > BUSY:
            raise Problem(f"the generator was the bottleneck: it used {used:.0f} % of a core")
        figures |= {
            "all_joined_milliseconds": joins["seconds"] * 1000,
            "join_p50_milliseconds": percentile(joins["milliseconds"], 50),
            "join_p99_milliseconds": percentile(joins["milliseconds"], 99),
            "bytes_per_second": joins["bytes"] / joins["seconds"],
        }
    return {**figures, "generator_cpu_percent": used}
