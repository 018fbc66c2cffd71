"""Lesson 1: hit, miss and pass."""

import re

from school import Pupil

RIGHT = "43200 "  # how the right answer begins


def do(pupil: Pupil, host: str = "localhost") -> None:
    """What the page says."""
    for path, method in (("/media/fox.svg?WORD", "HEAD"), ("/admin/id?WORD", "HEAD"), ("/slow?WORD", "GET")):
        for _ in range(2):
            pupil.get(path, host, method)


def test_step_by_step(pupil: Pupil) -> None:
    """Names each missing step."""
    pupil.refused("You have not requested /media/fox.svg")
    pupil.get("/media/fox.svg?WORD", "nginx.localhost")
    pupil.refused(r"You asked nginx\.localhost\. This lesson is about localhost")
    pupil.get("/media/fox.svg?WORD")
    pupil.refused("One request was a miss")
    pupil.get("/media/fox.svg?WORD-2")
    pupil.refused("Different URLs are different objects")
    pupil.get("/media/fox.svg?WORD")
    pupil.refused("Request /admin/id")
    pupil.get("/admin/id?WORD")
    pupil.refused("once more: how do you know")
    pupil.get("/admin/id?WORD")
    pupil.refused("Request /slow?")
    pupil.get("/slow?WORD")
    pupil.refused("Request /slow?")


def test_a_copy_that_another_request_stored(pupil: Pupil) -> None:
    """A hit on an object that was purged and stored again, or that another URL stored, proves nothing."""
    pupil.get("/media/fox.svg?WORD")
    pupil.stack.make("purge", "URL=/media/fox.svg")
    pupil.get("/media/fox.svg?WORD")
    pupil.get("/media/fox.svg?WORD")
    pupil.refused("The backend was asked 2 times for 1 URL")


def test_without_the_backend(pupil: Pupil) -> None:
    for _ in range(2):
        pupil.get("/media/fox.svg?WORD")
    with pupil.paused_backend():
        pupil.wait_until_backend_is("sick")
        for _ in range(2):
            pupil.get("/admin/id?WORD")
    pupil.stack.wait_until_ready()
    pupil.refused("The backend must have been asked for each /admin/id")


def test_the_word_of_another_attempt(pupil: Pupil) -> None:
    word, pupil.word = pupil.word, "k00000000"
    do(pupil)
    pupil.word = word
    pupil.refused("The word belongs to the URL")


def test_an_edited_header(pupil: Pupil) -> None:
    """A forged Cache-Status claims a hit; the check does not read it, and wants the shipped file."""
    pupil.edit("varnish/cache_status.vcl", '"; fwd=uri-miss"', '"; hit"')
    pupil.refused(r"varnish/cache_status\.vcl differs from the shipped file")


def test_the_question(pupil: Pupil) -> None:
    """A wrong answer is explained and leaves the lesson open; the right one closes it for good."""
    do(pupil)
    code, said = pupil.check("e")
    assert (code, "it can be a, b, c or d" in said) == (2, True)
    _, asked = pupil.check()
    code, said = pupil.check(letter(asked, "43192 "))
    assert (code, "No: ttl is what is left" in said) == (1, True), said
    code, said = pupil.check(letter(said, RIGHT))  # the choices are in another order now
    assert (code, "Lesson 1 is done" in said) == (0, True), said
    assert "  1  done   First hit" in pupil.stack.make("lessons")
    assert pupil.check("e")[0] == 0


def letter(said: str, choice: str) -> str:
    """The letter of the choice that begins like this."""
    found: list[str] = re.findall(rf"^  ([a-d])\) {choice}", said, re.M)
    return found[-1]
