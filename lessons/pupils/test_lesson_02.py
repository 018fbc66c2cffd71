"""Lesson 2: the TTL is fixed when an object is stored."""

import pytest

from school import Pupil

MEDIA = "varnish/media.vcl"


def test_the_other_way_is_a_purge(pupil: Pupil) -> None:
    pupil.get("/media/fox.svg?WORD")
    pupil.edit(MEDIA, "ttl = 12h", "ttl = 1m")
    pupil.reload()
    pupil.get("/media/fox.svg?WORD")
    pupil.stack.make("purge", "URL=/media/fox.svg")
    pupil.wait(1.1)
    pupil.get("/media/fox.svg?WORD")
    pupil.right()


def test_step_by_step(pupil: Pupil) -> None:
    """Names each missing step."""
    pupil.refused("do that before you change the rule")
    pupil.get("/media/fox.svg?WORD")
    pupil.refused("in use is the shipped one")
    pupil.edit(MEDIA, "ttl = 12h;", "ttl = 60")
    pupil.refused(r"media\.vcl is saved, but Varnish has not loaded it \(")
    with pytest.raises(AssertionError):
        pupil.reload()
    pupil.refused("reports a mistake in the file")
    pupil.edit(MEDIA, "ttl = 60", "ttl = 60s;")
    pupil.reload()
    pupil.refused("you have not seen it")
    pupil.get("/media/fox.svg?WORD-2")
    pupil.refused("Request the old URL once more")


def test_only_after_the_change(pupil: Pupil) -> None:
    pupil.edit(MEDIA, "ttl = 12h", "ttl = 60s")
    pupil.reload()
    pupil.get("/media/fox.svg?WORD")
    pupil.refused("No URL with your word was stored before the reload")


def test_other_changes(pupil: Pupil) -> None:
    """Another number; a header, which is not evidence; a missing line; a rule that covers pages."""
    pupil.get("/media/fox.svg?WORD")
    cookie, ttl = "        unset beresp.http.Set-Cookie;\n", "        set beresp.ttl = 12h;\n"
    header = '        set beresp.http.Cache-Control = "s-maxage=60";\n'
    only = "Only the TTL in vcl_backend_response should change"
    shipped = (pupil.folder / MEDIA).read_text()
    for old, new, sentence in (
        (ttl, ttl.replace("12h", "90s"), "is fresh for 90 s; the lesson asks for 60"),
        (cookie + ttl, cookie + header + ttl.replace("12h", "60s"), only),
        (cookie + ttl, ttl.replace("12h", "60s"), only),
        (f"{ttl}    }}\n", "    }\n    set beresp.ttl = 60s;\n", "Pages got 60 seconds too"),
    ):
        (pupil.folder / MEDIA).write_text(shipped)
        pupil.edit(MEDIA, old, new)
        pupil.reload()
        pupil.get("/media/fox.svg?WORD")
        pupil.get(f"/media/fox.svg?WORD-{len(new)}")
        pupil.refused(sentence)
