"""labs/scale: the clients of a stage, through nginx and without it."""

import pytest

from labs.bench.drivers import chat, joins
from labs.bench.experiment import load
from labs.bench.lab_stack import LabStack
from labs.tests.running_lab import measure_briefly, needs_engine
from tests.stack import REPO

LAB = "scale"
pytestmark = [pytest.mark.slow, needs_engine]


def test_every_driver_measures_a_stage(lab: LabStack, monkeypatch: pytest.MonkeyPatch) -> None:
    for driver, limit in ((chat, "LATE"), (chat, "BUSY"), (joins, "BUSY")):
        monkeypatch.setattr(driver, limit, float("inf"))  # however busy this machine is
    found = measure_briefly(lab, LAB)
    assert found["one_line"]["deliveries"] == 4 * 100
    assert found["fan_out"]["memory_bytes_per_listener"] > 0
    assert found["chat"]["page_loads_per_second"] > 0
    # The stage is drawn full: each of the 50 was sent 400 kB.
    seconds = found["joins"]["all_joined_milliseconds"] / 1000
    assert found["joins"]["bytes_per_second"] * seconds > 50 * 380_000
    assert 0 < found["non_reader"]["cut_milliseconds"] < 150_000


def test_the_speakers_reach_upstage_without_a_proxy(lab: LabStack) -> None:
    [settings] = [
        cell.settings
        for cell in load(REPO / "labs" / LAB, "quick").cells
        if cell.key.items() >= {"topology": "direct", "load": 0}.items()
    ]
    assert chat.measure(lab, {**settings, "seconds": 1})["lines"] == 100
