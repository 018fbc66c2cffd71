"""Lesson 16: three caches."""

from collections.abc import Iterator

import pytest

from school import Pupil


@pytest.fixture(scope="module", autouse=True)
def three_caches(pupil: Pupil) -> Iterator[None]:
    pupil.start_with("ring")
    yield
    pupil.start_with("")


def ring(pupil: Pupil, files: int = 12) -> list[str]:
    """What Cache-Status says of each file."""
    return [
        pupil.get(f"/media/fox.svg?WORD-{number}", method="HEAD").headers["Cache-Status"]
        for number in range(files)
    ]


def kill(pupil: Pupil, cache: str) -> None:
    pupil.stack.compose("kill", cache)


def back(pupil: Pupil) -> None:
    pupil.stack.make("up")


def test_step_by_step(pupil: Pupil) -> None:
    """Names each missing step, and a second lost cache."""
    pupil.refused("Request 12 files twice, /media/fox.svg.* so far it was 0")
    ring(pupil)
    ring(pupil)
    pupil.refused("No file has moved: kill varnish-2")
    kill(pupil, "varnish-2")
    ring(pupil)
    pupil.refused("Bring varnish-2 back")
    back(pupil)
    pupil.refused("Bring varnish-2 back.* request the files once more")
    kill(pupil, "varnish-3")
    ring(pupil)
    pupil.refused("Files of varnish-2 and varnish-3 have moved: kill only one")
    back(pupil)


def test_files_that_were_not_requested_meanwhile(pupil: Pupil) -> None:
    ring(pupil, 30)
    ring(pupil, 30)
    kill(pupil, "varnish-2")
    ring(pupil, 15)
    back(pupil)
    ring(pupil, 30)
    pupil.refused("of the lost cache's files were not requested while it was away")


def test_one_cache(pupil: Pupil) -> None:
    pupil.start_with("")
    pupil.begin(16)
    ring(pupil)
    pupil.refused("There was one cache when the lesson began")
    pupil.start_with("ring")
