"""Attempts that do not complete a lesson: nothing at all; a solution that works for the wrong reason; a
forgotten step. Each is refused by its sentence in lesson.toml.

The attempts at lesson 12, which need no stack, are in lessons/tests/test_load_models.py.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import pytest

from faults.fault import faults
from lessons.learners.printed import changes
from lessons.learners.school import Learner
from lessons.lesson import LESSONS, Lesson, lessons
from tests.stack import REPO
from tests.support.wait import wait_until

CLASSIC = "classic.localhost"
FOX, DIVA, GARDEN = (f"/media/{name}.svg?WORD" for name in ("fox", "diva", "moonlit-garden"))
MEDIA, NORMALISE = "varnish/media.vcl", "varnish/normalise.vcl"


@pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.folder.name)
def test_who_has_done_nothing_has_not_done_it(learner: Learner, lesson: Lesson) -> None:
    learner.begin(lesson.number)
    code, said = learner.check()
    assert (code, said.startswith("Not done yet")) == (1, True), said


@contextmanager
def extra(learner: Learner, name: str, lesson: int) -> Iterator[None]:
    """Make an attempt on a stack with an extra."""
    learner.start_with(name)
    try:
        learner.begin(lesson)
        yield
    finally:
        learner.start_with("")


# --- 1 to 4: a copy, and what may become one.


def test_lesson_01_another_host_and_a_wrong_answer(learner: Learner) -> None:
    """A wrong answer is explained and leaves the lesson open; the right one closes it."""
    learner.request(FOX, "nginx.localhost").refused("elsewhere", "nginx.localhost")
    learner.do_lesson_1()
    code, said = learner.answer("43192 ")
    assert (code, "No: ttl is what is left" in said) == (1, True), said
    code, said = learner.answer("43200 ")  # the choices are now in a different order
    assert (code, "Lesson 1 is done" in said) == (0, True), said


def test_lesson_02_not_loaded_not_seen_and_a_rule_for_pages_too(learner: Learner) -> None:
    ttl = "        set beresp.ttl = 12h;\n"
    learner.request(FOX).edit(MEDIA, "ttl = 12h", "ttl = 60s")
    learner.refused(r"media\.vcl is saved, but Varnish has not loaded it \(")
    learner.reload().refused("not-seen")
    learner.request(f"{FOX}-2")
    learner.change(MEDIA, f"{ttl}    }}\n", "    }\n    set beresp.ttl = 60s;\n")
    learner.request(FOX).refused("pages")


TWO_OBJECTS = """
sub vcl_req_cookie {
    if (req.url ~ "^/stages/" && req.http.Cookie ~ "^theme=[^;]*$") {
        set req.http.X-Theme = req.http.Cookie;
        unset req.http.Cookie;
    }
}
sub vcl_hash { hash_data(req.http.X-Theme); }
"""


def test_lesson_03_a_rule_that_drops_every_cookie_or_keeps_two_copies(learner: Learner) -> None:
    every = 'sub vcl_req_cookie { if (req.url ~ "^/stages/") { unset req.http.Cookie; } }'
    for theme in ("dark", "light"):
        learner.get("/stages/?WORD", cookie=f"theme={theme}")
    learner.refuses(NORMALISE, ("", every, "other-cookies"), ("", TWO_OBJECTS, "two-objects"))


def test_lesson_04_a_404_is_kept_for_too_long(learner: Learner) -> None:
    (store, shipped, rule), _ = changes(4)
    learner.request("/media/WORD.png").herd("/media/WORD.png")
    learner.load(store, shipped, rule.replace("10s", "1h")).refused("too-long", 3600)
    learner.load(store, "ttl = 1h", "ttl = 10s").refused("grace", 86400)


# --- 5 to 9: a crowd, and the end of a copy.


def test_lesson_05_a_crowd_that_did_not_have_to_wait(learner: Learner) -> None:
    learner.herd("/slow?WORD").refused("another-host", "/slow")
    learner.request("/slow?WORD", CLASSIC).wait(1).herd("/slow?WORD", host=CLASSIC).refused("copy-before")


def test_lesson_06_a_paused_backend_is_not_a_stopped_one(learner: Learner) -> None:
    learner.get("/?WORD")
    with learner.paused_backend():
        learner.wait_until_backend_is("sick")
        learner.request("/?WORD").get("/stages/?WORD")
    learner.wait_until_backend_is("healthy")
    learner.refused("not-stopped")


def test_lesson_07_other_times_than_asked_for(learner: Learner) -> None:
    for _ in range(9):
        learner.request("/stages/demo?WORD", method="HEAD").wait(0.7)
    learner.refuses(
        "starter/varnish/stale.vcl",
        ("ttl < -10s", "ttl < -5s", "too-old"),
        ("grace = 24h", "grace = 3s", "24-hours"),
    )


def test_lesson_08_nginx_compared_or_the_etag_was_another(learner: Learner) -> None:
    etag = learner.get(GARDEN, CLASSIC).headers["ETag"]
    learner.request(GARDEN, if_none_match=etag).refused("not-asked")
    learner.request(GARDEN, CLASSIC, if_none_match='"another"').refused("no-304")


def look_at_pictures(learner: Learner) -> Learner:
    """Lesson 9: request both pictures on both hosts."""
    for host in ("localhost", CLASSIC):
        for picture in (FOX, DIVA):
            learner.get(picture, host, "HEAD")
    return learner


def test_lesson_09_everything_is_gone(learner: Learner) -> None:
    look_at_pictures(learner).stack.make("purge", "URL=/media/fox.svg")
    learner.stack.inside("varnishadm", "ban", "req.url ~ .")
    look_at_pictures(learner.wait(1.1)).refused("diva-gone", "localhost")


# --- 10. The last metre.


def test_lesson_10_half_of_each_change(learner: Learner) -> None:
    """HTTP/1.1 without a pool; then nginx compresses while Varnish still does, and passes its bytes on."""
    old_version, old_address, _, in_nginx = changes(10)

    def look(query: str) -> None:
        for accepted in ("gzip", "identity"):
            learner.get(f"{DIVA}{query}", accept_encoding=accepted)

    learner.series(f"{FOX}-{{}}", 30, CLASSIC)
    learner.request(DIVA, accept_encoding="identity").refused("one-object")
    look("")
    learner.edit(*in_nginx).load(*old_version).wait(2)  # until the workers have been replaced
    learner.series(f"{FOX}-1.1-{{}}", 30, CLASSIC).refused("too-many", 30, "HTTP/1.1")
    learner.load(*old_address).wait(2)
    learner.series(f"{FOX}-pool-{{}}", 30, CLASSIC).refused("no-http2")
    learner.type('curl -sk --http2 -o /dev/null "https://localhost:8443/media/fox.svg?WORD-h2"')
    look("-2")
    learner.refused("each-time")


# --- 13 and 15: parts and variants.


def test_lesson_13_every_page_is_assembled_or_none_is_kept(learner: Learner) -> None:
    ((store, _, rule),) = changes(13)

    def look() -> None:
        learner.request("/playbill?WORD-2").wait(2).request("/playbill?WORD-2")

    learner.get("/playbill?WORD")
    learner.refuses(
        store,
        ("", rule.replace('beresp.http.Surrogate-Control ~ "ESI/1.0"', 'bereq.url !~ "/id"'), "other-pages"),
        ("", rule.replace("do_esi = true;", "do_esi = true; set beresp.ttl = 1s;"), "page-expired"),
        look=look,
    )


def test_lesson_15_less_than_the_language_and_more_than_one_page(learner: Learner) -> None:
    ((_, _, rule),) = changes(15)
    less = 'sub vcl_recv { if (req.url ~ "^/welcome") { unset req.http.Accept-Language; } }'
    for language in ("de", "de-AT,de;q=0.9", "de-CH;q=0.9,en;q=0.5"):
        learner.get("/welcome?WORD", method="HEAD", accept_language=language)
    more = rule.replace('req.url ~ "^/welcome(\\?|$)"', 'req.method == "GET" || req.method == "HEAD"')
    learner.refuses(NORMALISE, ("", less, "not-german"), ("", more, "welcome-only"))


# --- 16, 17 and 20, which need an extra.


def test_lesson_16_the_lost_cache_is_not_brought_back(learner: Learner) -> None:
    with extra(learner, "ring", 16):
        learner.series(f"{FOX}-{{}}", 12, method="HEAD").series(f"{FOX}-{{}}", 12, method="HEAD")
        learner.refused("not-moved")
        learner.stack.compose("kill", "varnish-2")
        learner.series(f"{FOX}-{{}}", 12, method="HEAD").refused("bring-back", "varnish-2")


def title(learner: Learner) -> str:
    """Lesson 17: return the title of the chosen fault."""
    note = json.loads((learner.folder / ".run" / learner.stack.project / "fault.json").read_text())
    return next(fault.title for fault in faults() if fault.name == note["random"])


def mend(learner: Learner) -> str:
    """Lesson 17: return the command in the solution's row for this fault."""
    page = (LESSONS / "17-something-is-broken" / "solution.md").read_text()
    (row,) = (line for line in page.splitlines() if f"| {title(learner)} |" in line)
    return row.rsplit("| `")[-1].removesuffix("` |")


def test_lesson_17_not_watched_and_mended_by_make(learner: Learner) -> None:
    """The output of `make break` does not reveal the fault, and `make mend` ends it."""
    with extra(learner, "observe", 17):
        said = learner.stack.make("break", "FAULT=random")
        assert "A visitor writes: " in said
        assert not any(fault.title in said for fault in faults())
        assert learner.check()[0]
        learner.type(mend(learner))
        wait_until(lambda: "fewer than five requests" in learner.check()[1], within=90, every=1)
        learner.stack.make("break", "FAULT=random")
        learner.stack.make("mend")
        learner.refused("not-broken")


def test_lesson_20_headers_that_are_half_right(learner: Learner) -> None:
    folder, app = "lessons/20-the-header-from-the-other-side", "app.localhost"
    headers = learner.folder / folder / "headers.toml"
    right = shipped = (REPO / folder / "headers.toml").read_text()
    headers.write_text(shipped)  # an earlier test may have typed the solution here
    for _, old, new in changes(20):
        right = right.replace(old, new)
    try:
        with learner.application():
            learner.begin(20)
            learner.get("/price?WORD", app)
            for line, refusal in (("max-age=0, ", "max-age"), ("ETag = '\"1\"'\n", "report")):
                assert line in right
                headers.write_text(right.replace(line, ""))
                learner.refused(refusal)
            headers.write_text(right.replace('Vary = "Referer"', ""))
            for fields in ({"referer": "https://evil.example/"}, {}):
                learner.get("/news?WORD", app, **fields)
            learner.refused("poisoned")
    finally:
        headers.write_text(shipped)
        learner.start_with("")


# --- 21 and 22: tests of rules, and crawlers.


def test_lesson_21_a_test_without_the_rule_and_a_rule_without_the_test(learner: Learner) -> None:
    (test, _, vtc), (file, _, rule) = changes(21)
    learner.edit(test, "", vtc.replace("&reader-1", "").replace("reader-2&", "").replace("?reader-3", ""))
    learner.refused("passes-without-rule")
    (learner.folder / test).write_text(vtc)
    learner.refused("shipped")
    learner.change(file, "", rule.replace("([?&])reader-", "([?&])[a-z]*reader-")).refused("proofreader")


@contextmanager
def crawling(learner: Learner) -> Iterator[None]:
    """Lesson 22: run the page's program for ten seconds, and the block from the fourth second on."""
    program = (learner.folder / "lessons/22-crawler-weather/crawler.py").read_text()
    typed = ("exec", "-T", "locust", "python", "-", learner.word)
    given = {"typed": program.replace("SECONDS = 25", "SECONDS = 10")}
    crawler = Thread(target=learner.stack.compose, args=typed, kwargs=given)
    crawler.start()
    try:
        learner.wait(4)
        yield
    finally:
        crawler.join()


def see_the_crawler(learner: Learner) -> None:
    """Lesson 22: do the page's steps before the rule."""
    with crawling(learner):
        learner.get("/slow?WORD-known", cookie="upstage_seen=1")
        learner.herd("/slow?WORD-new-{}", 8)  # newcomers, each of whom requests a different page


def test_lesson_22_rules_that_do_more_than_drop_the_words(learner: Learner) -> None:
    ((queries, pages, rule),) = changes(22)
    see_the_crawler(learner)
    away = 'sub vcl_recv { if (req.url ~ "^/[^?.]*[?].*trail-") { return (synth(403)); } }'
    learner.refuses(
        queries,
        ("", away, "not-shared"),
        (pages, rule.replace("(trail-", "([a-z]*trail-"), "other-words"),
        (pages, rule.replace("    }\n", "        return (hash);\n    }\n"), "private"),
    )
