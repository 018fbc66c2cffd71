"""The lessons without containers: every tool that a check reads works there, too."""

from collections.abc import Iterator

import pytest

from school import Pupil, school
from test_lesson_01 import do
from test_lesson_02 import change

pytestmark = pytest.mark.xdist_group("native")  # one stack


@pytest.fixture(scope="module")
def native_pupil(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pupil]:
    with school(tmp_path_factory.mktemp("native", numbered=False), "native") as pupil:
        yield pupil


def test_hits_and_passes(native_pupil: Pupil) -> None:
    native_pupil.begin(1)
    native_pupil.refused("You have not requested")
    do(native_pupil)
    native_pupil.right()
    native_pupil.restart("varnish")
    native_pupil.refused("varnish was started again", code=2)


def test_a_changed_rule(native_pupil: Pupil) -> None:
    native_pupil.begin(2)
    change(native_pupil)
    native_pupil.right()
