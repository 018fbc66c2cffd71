"""A learner with a checkout and a running stack, for all lessons.

Several learners can work side by side, each in a separate process and on a separate stack:
`-n 3 --dist worksteal`.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from lessons.learners.school import Learner, school

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave these tests to `make test-all`; `make test` does one lesson (tests/test_lessons_page.py)."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def begin(request: pytest.FixtureRequest) -> None:
    """Begin an attempt: each test_lesson_NN_... is one at lesson NN."""
    if found := re.match(r"test_lesson_(\d\d)_", request.node.name):
        request.getfixturevalue("learner").begin(int(found[1]))


@pytest.fixture(scope="session")
def learner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Learner]:
    """Yield a learner, who is removed with the stack after the last lesson."""
    if os.environ.get("ENGINE") == "no":
        pytest.skip("no container engine can run here (make test said why)")
    with school(tmp_path_factory.mktemp("school", numbered=False), "containers") as learner:
        yield learner
