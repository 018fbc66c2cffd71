"""Ways to do a lesson that its page does not show. Each is accepted, or the check says why not."""

import pytest

from school import COMMIT, Pupil
from test_lesson_01 import RIGHT, do, letter

MEDIA = "varnish/media.vcl"


def is_right(pupil: Pupil) -> None:
    """The old copy and a new one are seen under the new rule of lesson 2."""
    for query in ("", "-2"):
        pupil.get(f"/media/fox.svg?WORD{query}")
    pupil.right()


@pytest.mark.parametrize(
    "line",
    [
        "set\nberesp.ttl = 60s; // was 12h",
        "set beresp.ttl = 0.5m + 30s;",
        'set beresp.ttl = std.duration("60s", 60s);',
        "if (beresp.ttl != 60s) { set beresp.ttl = 60.0s; }",
        "set beresp.ttl = 60s;\r\n",
    ],
)
def test_another_spelling(pupil: Pupil, line: str) -> None:
    pupil.begin(2)
    pupil.get("/media/fox.svg?WORD")
    pupil.edit(MEDIA, "set beresp.ttl = 12h;", line)
    if line.endswith("\r\n"):  # the whole file, as an editor on Windows saves it, and one beside it
        for file in (MEDIA, "varnish/store.vcl"):
            path = pupil.folder / file
            path.write_bytes(path.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
    pupil.reload()
    is_right(pupil)


def test_a_byte_order_mark_is_named(pupil: Pupil) -> None:
    pupil.begin(2)
    pupil.edit(MEDIA, "# Files that", "\ufeff# Files that")
    with pytest.raises(AssertionError):
        pupil.reload()
    pupil.refused("It begins with a byte-order mark, which Varnish refuses")


def test_a_vcl_that_was_loaded_by_hand(pupil: Pupil) -> None:
    """As the Varnish Book teaches it."""
    pupil.begin(2)
    pupil.get("/media/fox.svg?WORD")
    pupil.edit(MEDIA, "ttl = 12h", "ttl = 60s")
    pupil.stack.inside("varnishadm", "vcl.load", "mine", "default.vcl")
    pupil.stack.inside("varnishadm", "vcl.use", "mine")
    is_right(pupil)


def test_a_commit(pupil: Pupil) -> None:
    """It makes nothing the shipped file: the next lesson begins with that, after RESET."""
    pupil.begin(2)
    pupil.get("/media/fox.svg?WORD")
    pupil.edit(MEDIA, "ttl = 12h", "ttl = 60s")
    pupil.reload()
    pupil.type(COMMIT)
    is_right(pupil)
    pupil.restore()
    assert "ttl = 12h" in (pupil.folder / MEDIA).read_text()
    pupil.begin(3)


@pytest.mark.parametrize("host", ["127.0.0.1", "upstage.localhost"])
def test_another_name_of_the_default_host(pupil: Pupil, host: str) -> None:
    pupil.begin(1)
    do(pupil, host)
    pupil.right()


def test_bans_by_varnishadm(pupil: Pupil) -> None:
    pupil.begin(9)
    for host in ("localhost", "classic.localhost"):
        for picture in ("fox", "diva"):
            pupil.get(f"/media/{picture}.svg?WORD", host, "HEAD")
    pupil.stack.inside("varnishadm", "ban", "req.url ~ fox")
    pupil.refused("A ban by varnishadm has the same effect on one Varnish")


def test_a_done_lesson_is_read_again_and_a_stopped_one_goes_on(pupil: Pupil) -> None:
    """And a new attempt at a done one leaves it done."""
    pupil.begin(1)
    pupil.get("/media/fox.svg?WORD")
    printed = pupil.stack.make("lesson", "LESSON=1")
    assert f"This attempt goes on.\nThe word of this attempt is {pupil.word}" in printed
    do(pupil)
    _, asked = pupil.check()
    assert pupil.check(letter(asked, RIGHT))[0] == 0

    printed = pupil.stack.make("lesson", "LESSON=1")
    assert f"AGAIN=1\nThe word of this attempt is {pupil.word}" in printed
    pupil.begin(1)
    assert "  1  done   First hit" in pupil.stack.make("lessons")
