"""labs/ring: every way of choosing a cache serves the files."""

import pytest

from labs.bench.drivers import working_set
from labs.bench.experiment import load
from labs.bench.lab_stack import LabStack
from labs.tests.running_lab import needs_engine
from tests.stack import REPO

LAB = "ring"
EXPERIMENT = load(REPO / "labs" / LAB, "quick")
pytestmark = [pytest.mark.slow, needs_engine]


def test_few_files_that_have_been_requested_are_hits(lab: LabStack) -> None:
    """Of three caches that are asked in turn, two may have a file that was requested twice."""
    for cell in EXPERIMENT.cells:
        found = working_set.measure(lab, {**cell.settings, **EXPERIMENT.warm_up})
        if cell.key["choice"] != "in turn":
            assert (found["hit_ratio"], found["requests_to_backend"]) == (1, 0), cell
