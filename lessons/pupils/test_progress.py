"""A finished lesson appears on the page /lessons/, even if the backend was stopped at the time."""

import time

from school import Pupil
from support.wait import wait_until
from test_lesson_01 import RIGHT, do, letter


def done(pupil: Pupil) -> int:
    """How many lessons the page says are done."""
    page = pupil.get("/lessons/").text
    return int(page.partition(" of ")[0].rpartition(">")[2])


def test_the_page_follows_the_pupil(pupil: Pupil) -> None:
    (pupil.folder / f".run/{pupil.stack.project}/lessons/01.json").unlink(missing_ok=True)
    pupil.begin(1)
    wait_until(lambda: '<li data-state="begun">' in pupil.get("/lessons/").text)
    before = done(pupil)
    do(pupil)
    _, asked = pupil.check()

    # The right answer is given while the backend is stopped: that is not a reason to fail, or to wait.
    pupil.stack.control("stop", "backend")
    try:
        began = time.monotonic()
        code, said = pupil.check(letter(asked, RIGHT))
        took = time.monotonic() - began
        assert code == 0
        assert "Lesson 1 is done" in said
        assert "not running" not in said
        assert took < 15
    finally:
        pupil.stack.control("start", "backend")
        pupil.stack.wait_until_ready()
    assert done(pupil) == before
    pupil.stack.make("lessons")
    wait_until(lambda: done(pupil) == before + 1)
