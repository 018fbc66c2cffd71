"""Lessons 1 to 6: what is missing, and near misses, each refused by its sentence in lesson.toml."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from lessons.pupils.printed import changes
from lessons.pupils.school import Pupil

CLASSIC = "classic.localhost"
FOX = "/media/fox.svg?WORD"
MEDIA = "varnish/media.vcl"

# --- 1. First hit.


def test_lesson_01_names_each_missing_step(pupil: Pupil) -> None:
    word, pupil.word = pupil.word, "k00000000"  # of another attempt
    pupil.do_lesson_1()
    pupil.word = word
    pupil.refused("not-requested")
    pupil.request(FOX, "nginx.localhost").refused("elsewhere", "nginx.localhost")
    for url, refusal in (
        (FOX, "one-miss"),
        (f"{FOX}-2", "different-urls"),
        (FOX, "no-key"),
        ("/admin/id?WORD", "one-key"),
        ("/admin/id?WORD", "slow"),
        ("/slow?WORD", "slow"),
    ):
        pupil.request(url).refused(refusal)


def test_lesson_01_a_copy_that_another_request_stored(pupil: Pupil) -> None:
    """A hit on an object that was purged and stored again, or that another URL stored, proves nothing."""
    pupil.get(FOX)
    pupil.stack.make("purge", "URL=/media/fox.svg")
    pupil.get(FOX)
    pupil.request(FOX).refused("no-cache", 2, 1)


def test_lesson_01_without_the_backend(pupil: Pupil) -> None:
    pupil.series(FOX, 2)
    with pupil.paused_backend():
        pupil.wait_until_backend_is("sick")
        pupil.series("/admin/id?WORD", 2)
    pupil.stack.wait_until_ready()
    pupil.refused("key-not-fetched")


def test_lesson_01_the_question(pupil: Pupil) -> None:
    """A wrong answer is explained and leaves the lesson open; the right one closes it for good."""
    pupil.do_lesson_1()
    code, said = pupil.check("e")
    assert (code, "it can be a, b, c or d" in said) == (2, True)
    code, said = pupil.answer("43192 ")
    assert (code, "No: ttl is what is left" in said) == (1, True), said
    code, said = pupil.answer("43200 ")  # the choices are in another order now
    assert (code, "Lesson 1 is done" in said) == (0, True), said
    assert "  1  done   First hit" in pupil.stack.make("lessons")
    assert pupil.check("e")[0] == 0


def test_lesson_01_four_answers_at_once(pupil: Pupil) -> None:
    """All are counted, up to the right one."""
    pupil.do_lesson_1()
    pupil.right()
    with ThreadPoolExecutor(4) as pool:
        said = [text for _, text in pool.map(pupil.check, "abcd")]
    wrong = sum("\nNo: " in text for text in said)
    kept = json.loads((pupil.folder / f".run/{pupil.stack.project}/lessons/01.json").read_text())
    assert kept["answers"] == wrong + (kept["done"] > 0)


# --- 2. How long is fresh?


def test_lesson_02_the_other_way_is_a_purge(pupil: Pupil) -> None:
    pupil.get(FOX)
    pupil.load(MEDIA, "ttl = 12h", "ttl = 1m")
    pupil.get(FOX)
    pupil.stack.make("purge", "URL=/media/fox.svg")
    pupil.wait(1.1)
    pupil.get(FOX)
    pupil.right()


def test_lesson_02_names_each_missing_step_and_each_wrong_rule(pupil: Pupil) -> None:
    pupil.refused("not-requested")
    pupil.request(FOX).refused("shipped")
    pupil.edit(MEDIA, "ttl = 12h;", "ttl = 60")
    pupil.refused(r"media\.vcl is saved, but Varnish has not loaded it \(")
    with pytest.raises(AssertionError):
        pupil.reload()
    pupil.refused("reports a mistake in the file")
    pupil.load(MEDIA, "ttl = 60", "ttl = 60s;").refused("not-seen")
    pupil.request(f"{FOX}-2").refused("old-url")

    ttl = "        set beresp.ttl = 12h;\n"
    pupil.refuses(MEDIA, (ttl, ttl.replace("12h", "90s"), "not-60"))  # a rule that covers pages: below
    pupil.change(MEDIA, f"{ttl}    }}\n", "    }\n    set beresp.ttl = 60s;\n")
    pupil.request(FOX).refused("pages")


def test_lesson_02_only_after_the_change(pupil: Pupil) -> None:
    pupil.load(MEDIA, "ttl = 12h", "ttl = 60s")
    pupil.request(FOX).refused("begun-late")


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


def try_themes(pupil: Pupil, *rules: tuple[str, str]) -> None:
    """Load each rule, and ask with two themes."""

    def look() -> None:
        for theme in ("dark", "light"):
            pupil.get("/stages/?WORD", cookie=f"theme={theme}")

    pupil.refuses(NORMALISE, *(("", rule, refusal) for rule, refusal in rules), look=look)


def test_lesson_03_rules_that_do_less_or_more(pupil: Pupil) -> None:
    """Each is right for some requests."""
    pupil.change(NORMALISE, "", THEME).refused("themes")
    try_themes(
        pupil,
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


def test_lesson_04_names_each_missing_step(pupil: Pupil) -> None:
    """And each rule that keeps a 404 for too long."""
    pupil.request("/media/WORD.png").refused("forty")
    pupil.herd("/media/WORD.png").refused("shipped")
    pupil.load(STORE, SHIPPED, STORE_404.replace("10s", "1h")).refused("too-long", 3600)
    pupil.load(STORE, "ttl = 1h", "ttl = 10s").refused("grace", 86400)
    pupil.load(STORE, GRACE, NO_GRACE).refused("forty-again")
    pupil.series("/media/WORD-again.png", 2).refused("forty-again")
    pupil.herd("/media/WORD-more.png").refused("wait")

    # The last of these rules stores a 404, which another line undoes; then one that does not ask the backend.
    now = STORE_404
    for rule, refusal in (
        ("    if (beresp.status != 200) { set beresp.ttl = 10s; }\n", "redirect"),
        (STORE_404.replace("ttl = 10s;", "ttl = 10s;\n        set beresp.status = 200;"), "not-404"),
        (SHIPPED.replace("200) {", "200) {\n        set beresp.ttl = 10s;"), "reached the backend 20 times"),
    ):
        pupil.load(STORE, now, rule).refused(refusal)
        now = rule
    pupil.change(STORE, "", 'sub vcl_recv { if (req.url ~ "[.]png") { return (synth(404)); } }')
    pupil.refused("not-shared", 0)


# --- 5. Forty at the door.


def test_lesson_05_names_each_herd_that_is_missing_or_none(pupil: Pupil) -> None:
    """A new word makes up for it."""
    pupil.refused("not-requested", "/slow")
    pupil.herd("/slow?WORD").refused("another-host", "/slow")
    pupil.request("/slow?WORD", CLASSIC).refused("too-few", 1, "/slow?WORD")
    pupil.herd("/slow?WORD", host=CLASSIC).refused("copy-before")
    pupil.series("/slow?WORD-2", 40, CLASSIC).refused("not-waited", 0, "/slow?WORD-2", "/slow?WORD-3")
    pupil.herd("/slow?WORD-3", host=CLASSIC, cookie="who=me")  # a crowd of passes: none waits for another
    pupil.refused("not-one", 40, "/slow?WORD-3")
    pupil.herd("/slow?WORD-4", host=CLASSIC).refused("not-requested", "/media/")
    pupil.herd("/media/fox.svg?WORD", host=CLASSIC).refused("a 404, is not stored")
    pupil.series("/media/WORD.png", 40, CLASSIC).refused("one-by-one")
    pupil.herd("/media/WORD-2.png", host=CLASSIC).refused("not-requested", "/admin/id")
    pupil.herd("/admin/id?WORD", host=CLASSIC, method="PURGE").refused("/admin/id is never cached")


# --- 6. The backend is down.


def test_lesson_06_names_each_missing_step(pupil: Pupil) -> None:
    """Pausing a backend is not stopping it, and stopping Varnish loses the evidence."""
    pupil.refused("no-copy")
    pupil.get("/?WORD")
    pupil.get("/stages/?WORD")
    with pupil.paused_backend():
        pupil.wait(1)
        pupil.get("/?WORD")
    pupil.refused("not-down")
    with pupil.paused_backend():
        pupil.wait_until_backend_is("sick")
        pupil.request("/?WORD").refused("no-other-page")
        pupil.request("/stages/?WORD").refused("not-503")
        pupil.request("/stages/?WORD-2").refused("no-answer")
    pupil.wait_until_backend_is("healthy")
    pupil.refused("not-stopped")
    pupil.restart("backend").refused("was-running")
    pupil.restart("varnish").refused("varnish was restarted", code=2)
