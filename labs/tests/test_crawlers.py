"""The lab crawlers: its rules are put into the running Varnish; crawlers, bot and visitors are answered."""

import pytest

from labs.bench.drivers import crawlers
from labs.bench.experiment import Cell, load
from labs.bench.lab_stack import LabStack, Problem
from labs.tests.running_lab import ask, needs_engine
from tests.stack import REPO

LAB = "crawlers"
EXPERIMENT = load(REPO / "labs" / LAB, "quick")
pytestmark = [pytest.mark.slow, needs_engine]
FEW = {"users": 3, "rate": 3, "crawl": 20, "addresses": 20, "warm_up": 1, "seconds": 5, "processes": 1}


@pytest.mark.parametrize("cell", [cell for cell in EXPERIMENT.cells if cell.key["addresses"]], ids=str)
def test_a_rule_set_is_in_use_and_everyone_is_answered(lab: LabStack, cell: Cell) -> None:
    found = crawlers.measure(lab, {**cell.settings, **FEW})
    assert found["crawlers_asked_per_second"] > 10
    assert (found["visitors_failed"], found["bot_refused"], found["crawlers_refused_per_second"]) == (0, 0, 0)
    again = [ask(lab, "varnish", f"/stages/?x={number}") for number in (1, 2)]
    assert ("hit" in again[1].headers["cache-status"]) == cell.settings["arguments"]
    deployed = lab.run("varnish", "cat", "/tmp/varnish/deployment.vcl")
    assert ("upstage_strangers" in deployed) == bool(cell.settings["strangers"])


def test_an_argument_that_locust_rejects_is_reported(lab: LabStack) -> None:
    settings = {**EXPERIMENT.cells[0].settings, **FEW, "robots": "perhaps"}
    with pytest.raises(Problem, match="argument --robots: invalid choice: 'perhaps'"):
        crawlers.measure(lab, settings)
