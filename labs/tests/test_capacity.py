"""The lab capacity: Locust reaches each topology of the lab's stack."""

from pathlib import Path

import pytest

from labs.bench.drivers import capacity
from labs.bench.experiment import Cell, load
from labs.bench.lab_stack import LabStack, Problem
from labs.tests.running_lab import needs_engine
from tests.stack import REPO

LAB = "capacity"
EXPERIMENT = load(REPO / "labs" / LAB, "quick")
pytestmark = [pytest.mark.slow, needs_engine]


@pytest.mark.parametrize("cell", EXPERIMENT.cells, ids=str)
def test_the_warm_up_of_a_cell_is_a_player_who_is_carried(
    lab: LabStack, cell: Cell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capacity, "LEVELS", tmp_path)
    found = capacity.measure(lab, {**cell.settings, **EXPERIMENT.warm_up})
    assert (found["visitors_carried"], found["generator_was_the_limit"]) == (1, 0)
    assert found["cpu_percent.backend"] > 0


def test_an_argument_that_locust_rejects_is_reported(lab: LabStack) -> None:
    settings = {**EXPERIMENT.cells[0].settings, **EXPERIMENT.warm_up, "topology": "nowhere"}
    with pytest.raises(Problem, match="argument --topology: invalid choice: 'nowhere'"):
        capacity.measure(lab, settings)
