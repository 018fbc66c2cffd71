"""Lesson 4: a 404 is stored for ten seconds."""

from printed import changes
from school import Pupil

(FILE, SHIPPED, STORE), (_, GRACE, NO_GRACE) = changes(4)


def test_step_by_step(pupil: Pupil) -> None:
    """Names each missing step, and each rule that keeps a 404 for too long."""
    pupil.get("/media/WORD.png")
    pupil.refused(r"Request /media/\w+\.png forty times at once under the shipped rules")
    pupil.herd("/media/WORD.png")
    pupil.refused("in use is the shipped one: no 404 is stored")
    pupil.edit(FILE, SHIPPED, STORE.replace("10s", "1h"))
    pupil.reload()
    pupil.refused("A 404 is kept for 3600 s; the lesson asks for 10")
    pupil.edit(FILE, "ttl = 1h", "ttl = 10s")
    pupil.reload()
    pupil.refused("served as a stale copy for 86400 s more")
    pupil.edit(FILE, GRACE, NO_GRACE)
    pupil.reload()
    pupil.refused("Now forty at once with a name that was not requested before")
    for _ in range(2):
        pupil.get("/media/WORD-again.png")
    pupil.refused("Now forty at once with a name that was not requested before")
    pupil.herd("/media/WORD-more.png")
    pupil.refused("Wait until the ten seconds are over")


def test_other_rules(pupil: Pupil) -> None:
    """The last of them stores a 404, which another line undoes."""
    pupil.herd("/media/WORD.png")
    now = SHIPPED
    pupil.edit(FILE, GRACE, NO_GRACE)
    for store, sentence in (
        (STORE.replace("== 404", ">= 400"), "compares beresp.status in another way"),
        (
            "    if (beresp.status != 200) { set beresp.ttl = 10s; }\n",
            "but the redirect of /stages is stored too",
        ),
        (
            STORE.replace("ttl = 10s;", "ttl = 10s;\n        set beresp.status = 200;"),
            "A missing file must still be a 404",
        ),
        (SHIPPED.replace("200) {", "200) {\n        set beresp.ttl = 10s;"), "reached the backend 20 times"),
    ):
        pupil.edit(FILE, now, store)
        pupil.reload()
        pupil.refused(sentence)
        now = store


def test_answered_without_the_backend(pupil: Pupil) -> None:
    pupil.herd("/media/WORD.png")
    pupil.rule(FILE, 'sub vcl_recv { if (req.url ~ "[.]png") { return (synth(404)); } }')
    pupil.refused("reached the backend 0 times")
