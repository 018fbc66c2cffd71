"""Ways to do a lesson that its page does not show. Each is accepted, or the check says why not."""

import time
from pathlib import Path

import pytest

from lessons.learners.school import Learner, school
from lessons.learners.test_near_misses import crawling, look_at_pictures, see_the_crawler
from tests.support.wait import wait_until

MEDIA = "varnish/media.vcl"
RIGHT = "43200 "  # the beginning of the right answer of lesson 1


def is_right(learner: Learner) -> None:
    """Request the old copy and a new one under the new rule of lesson 2, and have both checked."""
    for query in ("", "-2"):
        learner.get(f"/media/fox.svg?WORD{query}")
    learner.right()


@pytest.mark.parametrize(
    "line",
    [
        'set\nberesp.ttl = std.duration("60s", 60s); // was 12h',
        "set beresp.ttl = 60s;\r\n",
    ],
)
def test_lesson_02_another_spelling(learner: Learner, line: str) -> None:
    learner.get("/media/fox.svg?WORD")
    learner.edit(MEDIA, "set beresp.ttl = 12h;", line)
    if line.endswith("\r\n"):  # the whole file, and one beside it, as an editor on Windows saves them
        for file in (MEDIA, "varnish/store.vcl"):
            path = learner.folder / file
            path.write_bytes(path.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
    learner.reload()
    is_right(learner)


def test_lesson_02_a_byte_order_mark_is_named(learner: Learner) -> None:
    learner.edit(MEDIA, "# Files that", "\ufeff# Files that")
    with pytest.raises(AssertionError):
        learner.reload()
    learner.refused("It begins with a byte-order mark, which Varnish refuses")


def test_lesson_02_a_vcl_that_was_loaded_by_hand(learner: Learner) -> None:
    """Load the VCL as the Varnish Book teaches."""
    learner.get("/media/fox.svg?WORD")
    learner.edit(MEDIA, "ttl = 12h", "ttl = 60s")
    learner.stack.inside("varnishadm", "vcl.load", "mine", "default.vcl")
    learner.stack.inside("varnishadm", "vcl.use", "mine")
    is_right(learner)


@pytest.mark.parametrize("host", ["127.0.0.1", "upstage.localhost"])
def test_lesson_01_another_name_of_the_default_host(learner: Learner, host: str) -> None:
    learner.do_lesson_1(host)
    learner.right()


def test_lesson_09_bans_by_varnishadm(learner: Learner) -> None:
    look_at_pictures(learner)
    learner.stack.inside("varnishadm", "ban", "req.url ~ fox")
    learner.refused("not-purged")


def test_lesson_22_another_spelling(learner: Learner) -> None:
    """A newcomer may also send HEAD."""
    see_the_crawler(learner)
    pages = 'req.url ~ "^/[^?.]*[?]" && req.url !~ "^/(admin|swf|ws|media|speech)/"'
    drop = 'regsuball(req.url, "([?&])trail-[0-9a-f]{8}(&|$)", "\\1")'
    rule = (
        f'sub vcl_recv {{ if ({pages} && req.method ~ "^(GET|HEAD)$") {{\n'
        f'set req.url = {drop}; set req.url = regsub(req.url, "[?&]$", ""); }} }}'
    )
    learner.change("varnish/queries.vcl", "", rule)
    with crawling(learner):
        learner.request("/slow?WORD-later", method="HEAD")
    learner.right()


def done(learner: Learner) -> int:
    """Return how many lessons are done according to the page /lessons/."""
    page = learner.get("/lessons/").text
    return int(page.partition(" of ")[0].rpartition(">")[2])


def test_the_page_follows_a_learner_who_answers_while_the_backend_is_stopped(learner: Learner) -> None:
    """A stopped backend must neither make the check fail, nor make it wait."""
    (learner.folder / f".run/{learner.stack.project}/lessons/01.json").unlink(missing_ok=True)
    learner.begin(1)
    wait_until(lambda: '<li data-state="begun">' in learner.get("/lessons/").text)
    before = done(learner)
    learner.do_lesson_1()
    letter = learner.letter(RIGHT)
    learner.stack.control("stop", "backend")
    try:
        began = time.monotonic()
        code, said = learner.check(letter)
        assert time.monotonic() - began < 15
        assert code == 0
        assert "Lesson 1 is done" in said
        assert "not running" not in said
    finally:
        learner.stack.control("start", "backend")
        learner.stack.wait_until_ready()
    assert done(learner) == before
    learner.stack.make("lessons")
    wait_until(lambda: done(learner) == before + 1)


def test_without_containers_every_tool_that_a_check_reads_works_too(tmp_path: Path) -> None:
    with school(tmp_path, "native") as learner:
        learner.begin(1)
        learner.refused("not-requested")
        learner.do_lesson_1()
        learner.right()
        learner.restart("varnish")
        learner.refused("varnish was restarted", code=2)

        learner.begin(2)
        learner.get("/media/fox.svg?WORD")
        learner.load(MEDIA, "ttl = 12h", "ttl = 60s")
        is_right(learner)
