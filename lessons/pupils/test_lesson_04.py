"""Lesson 4: a 404 is stored for ten seconds."""

import pytest

from school import Pupil

FILE = "varnish/store.vcl"
SHIPPED = """\
    if (beresp.status != 200) {
        call vcl_beresp_hitmiss;
    }
"""
STORE = """\
    if (beresp.status == 404) {
        set beresp.ttl = 10s;
    } elsif (beresp.status != 200) {
        call vcl_beresp_hitmiss;
    }
"""
GRACE = "    set beresp.grace = 24h;\n"
NO_GRACE = GRACE + "    if (beresp.status == 404) { set beresp.grace = 0s; }\n"


@pytest.fixture(autouse=True)
def begin(pupil: Pupil) -> None:
    pupil.begin(4)


def change(pupil: Pupil, store: str = STORE, grace: str = NO_GRACE) -> None:
    """A crowd that asks for nothing, then other rules."""
    pupil.herd("/media/WORD.png")
    pupil.edit(FILE, SHIPPED, store)
    pupil.edit(FILE, GRACE, grace)
    pupil.reload()


def test_the_model_pupil_is_done(pupil: Pupil) -> None:
    change(pupil)
    pupil.herd("/media/WORD-again.png")
    pupil.wait(10.5)
    pupil.get("/media/WORD-again.png")
    pupil.right()


def test_step_by_step(pupil: Pupil) -> None:
    """Each step that is missing is named, and so is each rule that keeps a 404 for too long."""
    pupil.get("/media/WORD.png")
    pupil.refused(r"Request /media/\w+\.png forty times at once under the shipped rules")
    pupil.herd("/media/WORD.png")
    pupil.refused("in use is the shipped one: no 404 is stored")
    pupil.edit(FILE, SHIPPED, STORE.replace("10s", "1h"))
    pupil.reload()
    pupil.refused("A 404 is kept for 3600 s. A file that is uploaded meanwhile stays invisible")
    pupil.edit(FILE, "ttl = 1h", "ttl = 30s")
    pupil.reload()
    pupil.refused("A 404 is kept for 30 s; the lesson asks for 10")
    pupil.edit(FILE, "ttl = 30s", "ttl = 10s")
    pupil.reload()
    pupil.refused("served as a stale copy for 86400 s more")
    pupil.edit(FILE, GRACE, NO_GRACE)
    pupil.reload()
    pupil.refused("Now forty at once with a name that was not requested before")
    for _ in range(2):
        pupil.get("/media/WORD-again.png")
    pupil.wait(1.1)  # nginx writes its log once a second
    pupil.refused("Now forty at once with a name that was not requested before")
    pupil.herd("/media/WORD-more.png")
    pupil.wait(1.1)
    pupil.get("/media/WORD-more.png")
    pupil.refused("Wait until the ten seconds are over")


def test_another_status_too(pupil: Pupil) -> None:
    """A 5xx among them: this rule says nothing about which 4xx or 5xx is stored."""
    change(pupil, STORE.replace("== 404", ">= 400"))
    pupil.refused("but the new rule names 400")


def test_a_redirect_too(pupil: Pupil) -> None:
    change(pupil, "    if (beresp.status != 200) { set beresp.ttl = 10s; }\n")
    pupil.refused("but the redirect of /stages is stored too")


def test_a_404_that_became_a_200(pupil: Pupil) -> None:
    change(pupil, STORE.replace("ttl = 10s;", "ttl = 10s;\n        set beresp.status = 200;"))
    pupil.refused("A missing file must still be a 404")


def test_not_stored(pupil: Pupil) -> None:
    """The rule is there, and what it does is undone."""
    change(pupil, SHIPPED.replace("200) {", "200) {\n        set beresp.ttl = 10s;"))
    pupil.refused("reached the backend 20 times")


def test_answered_without_the_backend(pupil: Pupil) -> None:
    change(pupil, SHIPPED)
    pupil.append(FILE, 'sub vcl_recv { if (req.url ~ "[.]png") { return (synth(404)); } }\n')
    pupil.reload()
    pupil.refused("reached the backend 0 times")
