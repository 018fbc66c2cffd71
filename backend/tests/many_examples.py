"""How many examples of Hypothesis a test takes: some in `make test`, many in `make test-all`."""

from collections.abc import Callable

import pytest
from hypothesis import settings

EXAMPLES = pytest.mark.parametrize("examples", [100, pytest.param(3_000, marks=pytest.mark.slow)])


def holds(prove: Callable[[], None], examples: int) -> None:
    """Try a property, decorated with `given`, with that many examples."""
    settings(max_examples=examples, deadline=None)(prove)()
