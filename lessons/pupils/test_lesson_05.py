"""Lesson 5: three herds."""

from school import Pupil

CLASSIC = "classic.localhost"


def one_by_one(pupil: Pupil, path: str) -> None:
    """Forty requests, each after the response to the previous one."""
    for _ in range(40):
        pupil.get(path, CLASSIC)


def test_step_by_step(pupil: Pupil) -> None:
    """Names each herd that is missing or not a herd; a new word makes up for it."""
    pupil.refused("Varnish has seen no request for /slow")
    pupil.herd("/slow?WORD")
    pupil.refused("The requests for /slow went to another host")
    pupil.get("/slow?WORD", CLASSIC)
    pupil.refused(r"Varnish has seen 1 requests for /slow\?\w+ on classic.localhost, not forty")
    pupil.herd("/slow?WORD", host=CLASSIC)
    pupil.refused("was there before the herd came")
    one_by_one(pupil, "/slow?WORD-2")
    pupil.refused(r"Only 0 of the requests for /slow\?\w+-2 have waited .* new URL, /slow\?\w+-3\.")
    pupil.herd("/slow?WORD-3", host=CLASSIC)
    pupil.refused("Varnish has seen no request for /media/")
    pupil.herd("/media/fox.svg?WORD", host=CLASSIC)
    pupil.refused("a 404, is not stored")
    one_by_one(pupil, "/media/WORD.png")
    pupil.refused(r"The requests for /media/\w+\.png came one after another")
    pupil.herd("/media/WORD-2.png", host=CLASSIC)
    pupil.refused("Varnish has seen no request for /admin/id")


def test_a_crowd_of_passes(pupil: Pupil) -> None:
    """None of them waits for the fetch of another."""
    pupil.herd("/slow?WORD", host=CLASSIC, cookie="who=me")
    pupil.refused("The backend has 40 requests for /slow")


def test_the_backend_was_not_asked(pupil: Pupil) -> None:
    pupil.herd("/slow?WORD", host=CLASSIC)
    pupil.herd("/media/WORD.png", host=CLASSIC)
    pupil.herd("/admin/id?WORD", host=CLASSIC, method="PURGE")
    pupil.refused("/admin/id is never cached")
