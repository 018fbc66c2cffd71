"""The containers of the lab that a module names in LAB: prepared as for a run, in their own project."""

from collections.abc import Iterator

import pytest

from labs.bench import lab_stack
from labs.bench.experiment import load
from labs.bench.lab_stack import LabStack
from labs.tests.running_lab import NETWORK, PROJECT
from tests.stack import REPO


@pytest.fixture(scope="module")
def lab(request: pytest.FixtureRequest) -> Iterator[LabStack]:
    """A running lab."""
    name = request.module.LAB
    experiment = load(REPO / "labs" / name, "full")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lab_stack, "PROJECT", f"{PROJECT}-{name}")
        patch.setenv("OPENDATA_NETWORK", NETWORK)
        with LabStack(REPO / "labs" / name, experiment.services) as stack:
            if experiment.prepare:
                stack.run(experiment.prepare_in, *experiment.prepare)
            yield stack
