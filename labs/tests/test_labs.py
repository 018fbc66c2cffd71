"""Each lab in brief: its containers start, and each of its drivers measures its last cell."""

import importlib
from pathlib import Path

import pytest

from labs.bench import lab_stack
from labs.bench.drivers import capacity
from labs.bench.experiment import load
from labs.bench.lab_stack import LabStack
from labs.tests.running_lab import LABS, PROJECT, needs_engine

NETWORK = "198.19.14"  # the network of labs/opendata; a lab that runs beside the tests uses the default one


@needs_engine
@pytest.mark.slow
@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_each_driver_of_a_lab_measures(lab: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(lab_stack, "PROJECT", f"{PROJECT}-{lab.name}")
    monkeypatch.setattr(capacity, "LEVELS", tmp_path)
    monkeypatch.setenv("OPENDATA_NETWORK", NETWORK)
    experiment = load(lab, "quick")
    with LabStack(lab, experiment.services) as stack:
        if experiment.prepare:
            stack.run(experiment.prepare_in, *experiment.prepare)
        for name, cell in {cell.driver: cell for cell in experiment.cells}.items():
            driver = importlib.import_module(f"labs.bench.drivers.{name}")
            for limit in {"LATE", "BUSY"} & {*vars(driver)}:
                monkeypatch.setattr(driver, limit, float("inf"))  # however busy this machine is
            found = driver.measure(stack, {**cell.settings, **experiment.warm_up})
            assert found[cell.primary] >= 0, name
