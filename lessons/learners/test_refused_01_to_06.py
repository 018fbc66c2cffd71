"""Lessons 1 to 6: what is missing, and near misses, each refused by its sentence in lesson.toml."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from lessons.learners.printed import changes
from lessons.learners.school import Learner

CLASSIC = "classic.localhost"
FOX = "/media/fox.svg?WORD"
MEDIA = "varnish/media.vcl"

# --- 1. First hit.


def test_lesson_01_names_each_missing_step(learner: Learner) -> None:
    word, learner.word = learner.word, "k00000000"  # of another attempt
    learner.do_lesson_1()
    learner.word = word
    learner.refused("not-requested")
    learner.request(FOX, "nginx.localhost").refused("elsewhere", "nginx.localhost")
    for url, refusal in (
        (FOX, "one-miss"),
        (f"{FOX}-2", "different-urls"),
        (FOX, "no-key"),
        ("/admin/id?WORD", "one-key"),
        ("/admin/id?WORD", "slow"),
        ("/slow?WORD", "slow"),
    ):
        learner.request(url).refused(refusal)


def test_lesson_01_a_copy_that_another_request_stored(learner: Learner) -> None:
    """A hit on an object that was purged and stored again, or that another URL stored, proves nothing."""
    learner.get(FOX)
    learner.stack.make("purge", "URL=/media/fox.svg")
    learner.get(FOX)
    learner.request(FOX).refused("no-cache", 2, 1)


def test_lesson_01_without_the_backend(learner: Learner) -> None:
    learner.series(FOX, 2)
    with learner.paused_backend():
        learner.wait_until_backend_is("sick")
        learner.series("/admin/id?WORD", 2)
    learner.stack.wait_until_ready()
    learner.refused("key-not-fetched")


def test_lesson_01_the_question(learner: Learner) -> None:
    """A wrong answer is explained and leaves the lesson open; the right one closes it for good."""
    learner.do_lesson_1()
    code, said = learner.check("e")
    assert (code, "it can be a, b, c or d" in said) == (2, True)
    code, said = learner.answer("43192 ")
    assert (code, "No: ttl is what is left" in said) == (1, True), said
    code, said = learner.answer("43200 ")  # the choices are in another order now
    assert (code, "Lesson 1 is done" in said) == (0, True), said
    assert "  1  done   First hit" in learner.stack.make("lessons")
    assert learner.check("e")[0] == 0


def test_lesson_01_four_answers_at_once(learner: Learner) -> None:
    """All are counted, up to the right one."""
    learner.do_lesson_1()
    learner.right()
    with ThreadPoolExecutor(4) as pool:
        said = [text for _, text in pool.map(learner.check, "abcd")]
    wrong = sum("\nNo: " in text for text in said)
    kept = json.loads((learner.folder / f".run/{learner.stack.project}/lessons/01.json").read_text())
    assert kept["answers"] == wrong + (kept["done"] > 0)


# --- 2. How long is fresh?


def test_lesson_02_the_other_way_is_a_purge(learner: Learner) -> None:
    learner.get(FOX)
    learner.load(MEDIA, "ttl = 12h", "ttl = 1m")
    learner.get(FOX)
    learner.stack.make("purge", "URL=/media/fox.svg")
    learner.wait(1.1)
    learner.get(FOX)
    learner.right()


def test_lesson_02_names_each_missing_step_and_each_wrong_rule(learner: Learner) -> None:
    learner.refused("not-requested")
    learner.request(FOX).refused("shipped")
    learner.edit(MEDIA, "ttl = 12h;", "ttl = 60")
    learner.refused(r"media\.vcl is saved, but Varnish has not loaded it \(")
    with pytest.raises(AssertionError):
        learner.reload()
    learner.refused("reports a mistake in the file")
    learner.load(MEDIA, "ttl = 60", "ttl = 60s;").refused("not-seen")
    learner.request(f"{FOX}-2").refused("old-url")

    ttl = "        set beresp.ttl = 12h;\n"
    learner.refuses(MEDIA, (ttl, ttl.replace("12h", "90s"), "not-60"))  # a rule that covers pages: below
    learner.change(MEDIA, f"{ttl}    }}\n", "    }\n    set beresp.ttl = 60s;\n")
    learner.request(FOX).refused("pages")


def test_lesson_02_only_after_the_change(learner: Learner) -> None:
    learner.load(MEDIA, "ttl = 12h", "ttl = 60s")
    learner.request(FOX).refused("begun-late")


# --- 3. Whose page is it?

((NORMALISE, _, THEME),) = changes(3)
# Two themes, two objects.
TWO_OBJECTS = """
sub vcl_req_cookie {
    if (req.url ~ "^/stages/" && req.http.Cookie ~ "^theme=[^;]*$") {
        set req.http.X-Theme = req.http.Cookie;
        unset req.http.Cookie;
    }
}
sub vcl_hash { hash_data(req.http.X-Theme); }
"""
RETURN_HASH = """
sub vcl_recv {
    if (req.http.Cookie ~ "^theme=[^;]*$" && req.url ~ "^/stages/") {
        unset req.http.Cookie;
        return (hash);
    }
}
"""


def every_cookie(condition: str) -> str:
    """A rule that drops every cookie."""
    return f"sub vcl_req_cookie {{ if ({condition}) {{ unset req.http.Cookie; }} }}"


def try_themes(learner: Learner, *rules: tuple[str, str]) -> None:
    """Load each rule, and ask with two themes."""

    def look() -> None:
        for theme in ("dark", "light"):
            learner.get("/stages/?WORD", cookie=f"theme={theme}")

    learner.refuses(NORMALISE, *(("", rule, refusal) for rule, refusal in rules), look=look)


def test_lesson_03_rules_that_do_less_or_more(learner: Learner) -> None:
    """Each is right for some requests."""
    learner.change(NORMALISE, "", THEME).refused("themes")
    try_themes(
        learner,
        ("", "still-a-pass"),
        (every_cookie('req.url ~ "^/stages/"'), "other-cookies"),
        (THEME.replace('req.url ~ "^/stages/"', "req.http.Cookie"), "front-page"),
        (TWO_OBJECTS, "two-objects"),
        # Only a cookie of nothing but the theme is removed; beside another one it reaches the backend.
        (THEME.replace('^/stages/"', '^/stages/" && req.http.Cookie ~ "^theme=[^;]*$"'), "cookies-lost"),
        (RETURN_HASH + THEME, "returned"),
    )


# --- 4. What is not there.

(STORE, SHIPPED, STORE_404), (_, GRACE, NO_GRACE) = changes(4)


def test_lesson_04_names_each_missing_step(learner: Learner) -> None:
    """And each rule that keeps a 404 for too long."""
    learner.request("/media/WORD.png").refused("forty")
    learner.herd("/media/WORD.png").refused("shipped")
    learner.load(STORE, SHIPPED, STORE_404.replace("10s", "1h")).refused("too-long", 3600)
    learner.load(STORE, "ttl = 1h", "ttl = 10s").refused("grace", 86400)
    learner.load(STORE, GRACE, NO_GRACE).refused("forty-again")
    learner.series("/media/WORD-again.png", 2).refused("forty-again")
    learner.herd("/media/WORD-more.png").refused("wait")

    # The last of these rules stores a 404, which another line undoes; then one that does not ask the backend.
    now = STORE_404
    for rule, refusal in (
        ("    if (beresp.status != 200) { set beresp.ttl = 10s; }\n", "redirect"),
        (STORE_404.replace("ttl = 10s;", "ttl = 10s;\n        set beresp.status = 200;"), "not-404"),
        (SHIPPED.replace("200) {", "200) {\n        set beresp.ttl = 10s;"), "reached the backend 20 times"),
    ):
        learner.load(STORE, now, rule).refused(refusal)
        now = rule
    learner.change(STORE, "", 'sub vcl_recv { if (req.url ~ "[.]png") { return (synth(404)); } }')
    learner.refused("not-shared", 0)


# --- 5. Forty at the door.


def test_lesson_05_names_each_herd_that_is_missing_or_none(learner: Learner) -> None:
    """A new word makes up for it."""
    learner.refused("not-requested", "/slow")
    learner.herd("/slow?WORD").refused("another-host", "/slow")
    learner.request("/slow?WORD", CLASSIC).refused("too-few", 1, "/slow?WORD")
    learner.herd("/slow?WORD", host=CLASSIC).refused("copy-before")
    learner.series("/slow?WORD-2", 40, CLASSIC).refused("not-waited", 0, "/slow?WORD-2", "/slow?WORD-3")
    learner.herd("/slow?WORD-3", host=CLASSIC, cookie="who=me")  # a crowd of passes: none waits for another
    learner.refused("not-one", 40, "/slow?WORD-3")
    learner.herd("/slow?WORD-4", host=CLASSIC).refused("not-requested", "/media/")
    learner.herd("/media/fox.svg?WORD", host=CLASSIC).refused("a 404, is not stored")
    learner.series("/media/WORD.png", 40, CLASSIC).refused("one-by-one")
    learner.herd("/media/WORD-2.png", host=CLASSIC).refused("not-requested", "/admin/id")
    learner.herd("/admin/id?WORD", host=CLASSIC, method="PURGE").refused("/admin/id is never cached")


# --- 6. The backend is down.


def test_lesson_06_names_each_missing_step(learner: Learner) -> None:
    """Pausing a backend is not stopping it, and stopping Varnish loses the evidence."""
    learner.refused("no-copy")
    learner.get("/?WORD")
    learner.get("/stages/?WORD")
    with learner.paused_backend():
        learner.wait(1)
        learner.get("/?WORD")
    learner.refused("not-down")
    with learner.paused_backend():
        learner.wait_until_backend_is("sick")
        learner.request("/?WORD").refused("no-other-page")
        learner.request("/stages/?WORD").refused("not-503")
        learner.request("/stages/?WORD-2").refused("no-answer")
    learner.wait_until_backend_is("healthy")
    learner.refused("not-stopped")
    learner.restart("backend").refused("was-running")
    learner.restart("varnish").refused("varnish was restarted", code=2)
