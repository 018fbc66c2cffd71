"""The floods of labs/floods, shortened; `python -m labs.floods` runs them at full size."""

import pytest

from labs.floods.__main__ import flood
from labs.floods.clients import FLOODS, Sizes
from tests.stack import Stack

pytestmark = pytest.mark.parametrize("stack", ["containers"], indirect=True, scope="session")
SIZES = Sizes(files=150, slow=600, seconds=8, crowd=150, crowd_seconds=3, urls=5000, viewer_seconds=6)
QUICK = ("files",)


@pytest.mark.parametrize(
    "name",
    [
        name if name in QUICK else pytest.param(name, marks=pytest.mark.slow)
        for name in FLOODS
        if name != "quiet"
    ],
)
def test_no_response_is_cut_short(stack: Stack, name: str) -> None:
    outcome = flood(stack.project, name, SIZES)
    assert not outcome.faults, outcome
    assert outcome.responses.total() >= 300
    assert set(outcome.responses) <= {"200", "held"}, outcome
