"""What is done is on the page /lessons/, also if the backend was stopped when it was done."""

import time

from school import Pupil
from support.wait import wait_until


def done(pupil: Pupil) -> int:
    """How many lessons the page says are done."""
    page = pupil.get("/lessons/").text
    return int(page.partition(" of ")[0].rpartition(">")[2])


def test_the_page_follows_the_pupil(pupil: Pupil) -> None:
    pupil.begin(1)
    wait_until(lambda: '<li data-state="begun">' in pupil.get("/lessons/").text)
    before = done(pupil)
    for path in ("/media/fox.svg?WORD", "/admin/id?WORD", "/slow?WORD"):
        for _ in range(2):
            pupil.get(path, method="GET" if path.startswith("/slow") else "HEAD")
    pupil.right()

    # The right answer is given while the backend is stopped: that is no reason to fail, or to wait.
    pupil.stack.control("stop", "backend")
    try:
        began = time.monotonic()
        answers = [pupil.check("a")]
        took = time.monotonic() - began
        while answers[-1][0]:
            answers.append(pupil.check("b"))
            assert len(answers) < 60
        assert "Lesson 1 is done" in answers[-1][1]
        assert "not running" not in "".join(said for _, said in answers)
        assert took < 15
    finally:
        pupil.stack.control("start", "backend")
        pupil.stack.wait_until_ready()
    assert done(pupil) == before
    pupil.stack.make("lessons")
    wait_until(lambda: done(pupil) == before + 1)
