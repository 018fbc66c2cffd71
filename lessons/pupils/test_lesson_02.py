"""Lesson 2: the TTL is fixed when an object is stored."""

import pytest

from school import Pupil

MEDIA = "varnish/media.vcl"


@pytest.fixture(autouse=True)
def begin(pupil: Pupil) -> None:
    pupil.begin(2)


def change(pupil: Pupil, old: str = "ttl = 12h", new: str = "ttl = 60s", file: str = MEDIA) -> None:
    """Look, edit, reload, look again."""
    pupil.get("/media/fox.svg?WORD")
    pupil.edit(file, old, new)
    pupil.reload()
    pupil.get("/media/fox.svg?WORD")
    pupil.get("/media/fox.svg?WORD-2")


def test_the_model_pupil_is_done(pupil: Pupil) -> None:
    change(pupil)
    pupil.right()


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
    """Each step that is missing is named."""
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
    pupil.get("/media/fox.svg?WORD")
    pupil.right()


def test_only_after_the_change(pupil: Pupil) -> None:
    pupil.edit(MEDIA, "ttl = 12h", "ttl = 60s")
    pupil.reload()
    pupil.get("/media/fox.svg?WORD")
    pupil.refused("No URL with your word was stored before the reload")


def test_another_number(pupil: Pupil) -> None:
    change(pupil, new="ttl = 90s")
    pupil.refused("Only the TTL in vcl_backend_response should change")


def test_a_header_too(pupil: Pupil) -> None:
    """What the response says of itself is no evidence, and no part of the lesson."""
    line = "        unset beresp.http.Set-Cookie;\n"
    pupil.edit(MEDIA, line, f'{line}        set beresp.http.Cache-Control = "s-maxage=60";\n')
    change(pupil)
    pupil.refused("Only the TTL in vcl_backend_response should change")


def test_a_line_less(pupil: Pupil) -> None:
    pupil.edit(MEDIA, "        unset beresp.http.Set-Cookie;\n", "")
    change(pupil)
    pupil.refused("Only the TTL in vcl_backend_response should change")


def test_pages_get_it_too(pupil: Pupil) -> None:
    pupil.get("/media/fox.svg?WORD")
    rule = "        set beresp.ttl = 12h;\n    }\n"
    pupil.edit(MEDIA, rule, "    }\n    set beresp.ttl = 60s;\n")
    pupil.reload()
    pupil.get("/media/fox.svg?WORD")
    pupil.get("/media/fox.svg?WORD-2")
    pupil.refused("Pages got 60 seconds too")


def test_in_another_file(pupil: Pupil) -> None:
    change(pupil, "ttl > 24h", "ttl > 60s", "varnish/store.vcl")
    pupil.refused(r"varnish/store\.vcl is not as the project ships it")


def test_restarted_to_see_it(pupil: Pupil) -> None:
    change(pupil)
    pupil.restart("varnish")
    pupil.refused("varnish was started again", code=2)
