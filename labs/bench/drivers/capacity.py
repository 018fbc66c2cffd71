"""How many visitors a topology carries: Locust's load shape Capacity, judged level by level.

Locust runs in its own service, and doubles the visitors until a threshold of its verdict fails; then it steps
back until the result is exact to a tenth (loadtest/README.md). The knee is the highest level that was
carried: all figures describe it, except `visitors_failing`, the lowest level that was not carried. That
figure is missing if even `most` visitors were carried. If `generator_was_the_limit` is 1, Locust and not the
stack failed at that level: the topology carries at least `visitors_carried`.

`generator_cpu_percent` is the CPU use of the busiest process of Locust. Every level, with the reasons of its
verdict, is in test-results/bench/capacity/TOPOLOGY.json, which the topology's next run replaces.

Settings: `topology`, its host name; `most`, the visitors at the highest level; `rate`, how many visitors
arrive in a second; `warm_up` and `seconds`, the time before a level's measurement, and the measurement's
length; `processes` of Locust, -1: one for each core; `cores`, the number that the backend may use, to which
`backend_share_percent` relates.
"""

import json
import os
from collections.abc import Mapping
from typing import Any

from labs.bench.cpu import Cpu
from labs.bench.lab_stack import REPO, LabStack, Problem

SERVICE = "locust"
LEVELS = REPO / "test-results" / "bench" / "capacity"

# Locust also ends with 1 if the result is "at least", so only a missing report is an error.
SCRIPT = """
LOADTEST_REPORTS=$(mktemp -d)
export LOADTEST_REPORTS
printed=$(locust --headless --only-summary "$@" 2>&1)
cat "$LOADTEST_REPORTS/report.json" || { echo "$printed" >&2; exit 1; }
rm -r "$LOADTEST_REPORTS"
"""
# Metric -> figure of a level; None for a figure that was not measured.
FIGURES = {
    "requests_per_second": "requests_per_second",
    "p95_milliseconds": "p95_ms",
    "hit_ratio": "hit_ratio",
    "backend_requests_per_second": "backend_requests_per_second",
    "generator_cpu_percent": "generator_cpu_percent",
}


def measure(stack: LabStack, settings: Mapping[str, Any]) -> dict[str, float]:
    """Make one climb. Raise Problem if not even the smallest number of visitors was carried."""
    with Cpu(stack) as cpu:
        printed = stack.run(SERVICE, "sh", "-c", SCRIPT, "locust", *options(settings))
    report = json.loads(printed)
    LEVELS.mkdir(parents=True, exist_ok=True)
    (LEVELS / f"{settings['topology']}.json").write_text(printed)
    return metrics(report, cpu, settings["cores"])


def options(settings: Mapping[str, Any]) -> list[str]:
    """Return the arguments of Locust."""
    return [
        "--shape=Capacity",
        f"--topology={settings['topology']}",
        f"--users={settings['most']}",
        f"--spawn-rate={settings['rate']}",
        f"--seconds={settings['seconds']}",
        f"--warm-up={settings['warm_up']}",
        f"--processes={settings['processes']}",
    ]


def metrics(report: Mapping[str, Any], cpu: Cpu, cores: float) -> dict[str, float]:
    """Return the figures of Locust's report; raise Problem as `measure` does."""
    levels = report["measurements"]
    carried = [level for level in levels if level["carried"]]
    failing = min((one for one in levels if not one["carried"]), key=lambda one: one["users"], default=None)
    if not carried:
        raise Problem(report["outcome"] or "Locust measured nothing")
    knee = max(carried, key=lambda level: level["users"])
    used = cpu.percent(knee["began"], knee["began"] + knee["seconds"])
    # The runner would subtract the service `generator`, which is idle in this lab.
    rest = used["system_cpu_percent"] - used[f"cpu_percent.{SERVICE}"] / (os.cpu_count() or 1)
    return {
        "visitors_carried": float(knee["users"]),
        **({"visitors_failing": float(failing["users"])} if failing else {}),
        "generator_was_the_limit": float(bool(failing and failing["limited"])),
        **{name: knee[figure] for name, figure in FIGURES.items() if knee[figure] is not None},
        **used,
        "backend_share_percent": used["cpu_percent.backend"] / cores,
        "system_without_generator_cpu_percent": max(0.0, rest),
    }
