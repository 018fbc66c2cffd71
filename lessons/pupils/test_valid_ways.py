"""Ways to do a lesson that its page does not show. Each is accepted, or the check says why not."""

import time
from pathlib import Path

import pytest

from lessons.pupils.school import COMMIT, Pupil, school
from lessons.pupils.test_refused_07_to_12 import look_at_pictures
from lessons.pupils.test_refused_13_to_22 import QUERIES, crawling, see_the_crawler
from tests.support.wait import wait_until

MEDIA = "varnish/media.vcl"
RIGHT = "43200 "  # how the right answer of lesson 1 begins


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
def test_lesson_02_another_spelling(pupil: Pupil, line: str) -> None:
    pupil.get("/media/fox.svg?WORD")
    pupil.edit(MEDIA, "set beresp.ttl = 12h;", line)
    if line.endswith("\r\n"):  # the whole file, as an editor on Windows saves it, and one beside it
        for file in (MEDIA, "varnish/store.vcl"):
            path = pupil.folder / file
            path.write_bytes(path.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
    pupil.reload()
    is_right(pupil)


def test_lesson_02_a_byte_order_mark_is_named(pupil: Pupil) -> None:
    pupil.edit(MEDIA, "# Files that", "\ufeff# Files that")
    with pytest.raises(AssertionError):
        pupil.reload()
    pupil.refused("It begins with a byte-order mark, which Varnish refuses")


def test_lesson_02_a_vcl_that_was_loaded_by_hand(pupil: Pupil) -> None:
    """As the Varnish Book teaches it."""
    pupil.get("/media/fox.svg?WORD")
    pupil.edit(MEDIA, "ttl = 12h", "ttl = 60s")
    pupil.stack.inside("varnishadm", "vcl.load", "mine", "default.vcl")
    pupil.stack.inside("varnishadm", "vcl.use", "mine")
    is_right(pupil)


def test_lesson_02_a_commit(pupil: Pupil) -> None:
    """It makes nothing the shipped file: the next lesson begins with that, after RESET."""
    pupil.get("/media/fox.svg?WORD")
    pupil.load(MEDIA, "ttl = 12h", "ttl = 60s")
    pupil.type(COMMIT)
    is_right(pupil)
    pupil.restore()
    assert "ttl = 12h" in (pupil.folder / MEDIA).read_text()
    pupil.begin(3)


@pytest.mark.parametrize("host", ["127.0.0.1", "upstage.localhost"])
def test_lesson_01_another_name_of_the_default_host(pupil: Pupil, host: str) -> None:
    pupil.do_lesson_1(host)
    pupil.right()


def test_lesson_09_bans_by_varnishadm(pupil: Pupil) -> None:
    look_at_pictures(pupil)
    pupil.stack.inside("varnishadm", "ban", "req.url ~ fox")
    pupil.refused("not-purged")


def test_lesson_22_another_spelling(pupil: Pupil) -> None:
    """And a newcomer who asks by HEAD."""
    see_the_crawler(pupil)
    pages = 'req.url ~ "^/[^?.]*[?]" && req.url !~ "^/(admin|swf|ws|media|speech)/"'
    drop = 'regsuball(req.url, "([?&])trail-[0-9a-f]{8}(&|$)", "\\1")'
    rule = (
        f'sub vcl_recv {{ if ({pages} && req.method ~ "^(GET|HEAD)$") {{\n'
        f'set req.url = {drop}; set req.url = regsub(req.url, "[?&]$", ""); }} }}'
    )
    pupil.change(QUERIES, "", rule)
    with crawling(pupil):
        pupil.request("/slow?WORD-later", method="HEAD")
    pupil.right()


def test_lesson_01_a_done_lesson_is_read_again_and_a_stopped_one_goes_on(pupil: Pupil) -> None:
    """And a new attempt at a done one leaves it done."""
    pupil.get("/media/fox.svg?WORD")
    printed = pupil.stack.make("lesson", "LESSON=1")
    assert f"This attempt goes on.\nThe word of this attempt is {pupil.word}" in printed
    pupil.do_lesson_1()
    assert pupil.answer(RIGHT)[0] == 0

    printed = pupil.stack.make("lesson", "LESSON=1")
    assert f"AGAIN=1\nThe word of this attempt is {pupil.word}" in printed
    pupil.begin(1)
    assert "  1  done   First hit" in pupil.stack.make("lessons")


def done(pupil: Pupil) -> int:
    """How many lessons the page /lessons/ says are done."""
    page = pupil.get("/lessons/").text
    return int(page.partition(" of ")[0].rpartition(">")[2])


def test_the_page_follows_a_pupil_who_answers_while_the_backend_is_stopped(pupil: Pupil) -> None:
    """That is not a reason to fail, or to wait."""
    (pupil.folder / f".run/{pupil.stack.project}/lessons/01.json").unlink(missing_ok=True)
    pupil.begin(1)
    wait_until(lambda: '<li data-state="begun">' in pupil.get("/lessons/").text)
    before = done(pupil)
    pupil.do_lesson_1()
    letter = pupil.letter(RIGHT)
    pupil.stack.control("stop", "backend")
    try:
        began = time.monotonic()
        code, said = pupil.check(letter)
        assert time.monotonic() - began < 15
        assert code == 0
        assert "Lesson 1 is done" in said
        assert "not running" not in said
    finally:
        pupil.stack.control("start", "backend")
        pupil.stack.wait_until_ready()
    assert done(pupil) == before
    pupil.stack.make("lessons")
    wait_until(lambda: done(pupil) == before + 1)


def test_without_containers_every_tool_that_a_check_reads_works_too(tmp_path: Path) -> None:
    with school(tmp_path, "native") as pupil:
        pupil.begin(1)
        pupil.refused("not-requested")
        pupil.do_lesson_1()
        pupil.right()
        pupil.restart("varnish")
        pupil.refused("varnish was restarted", code=2)

        pupil.begin(2)
        pupil.get("/media/fox.svg?WORD")
        pupil.load(MEDIA, "ttl = 12h", "ttl = 60s")
        is_right(pupil)
