"""Lessons 1 to 12: what is missing, near misses and shortcuts, each refused by its sentence in says.toml."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import requests

from printed import changes, solution
from school import COMMIT, Pupil
from support.wait import wait_until

CLASSIC = "classic.localhost"
HOSTS = ("localhost", CLASSIC)
FOX, DIVA, GARDEN = (f"/media/{name}.svg?WORD" for name in ("fox", "diva", "moonlit-garden"))
MEDIA, STALE = "varnish/media.vcl", "varnish/stale.vcl"

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
    for _ in range(2):
        pupil.get(FOX)
    with pupil.paused_backend():
        pupil.wait_until_backend_is("sick")
        for _ in range(2):
            pupil.get("/admin/id?WORD")
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

    # Another number; a header, which is not evidence; a missing line; a rule that covers pages.
    cookie, ttl = "        unset beresp.http.Set-Cookie;\n", "        set beresp.ttl = 12h;\n"
    header = '        set beresp.http.Cache-Control = "s-maxage=60";\n'
    pupil.refuses(
        MEDIA,
        (ttl, ttl.replace("12h", "90s"), "not-60"),
        (cookie + ttl, cookie + header + ttl.replace("12h", "60s"), "only-ttl"),
        (cookie + ttl, ttl.replace("12h", "60s"), "only-ttl"),
    )
    pupil.change(MEDIA, f"{ttl}    }}\n", "    }\n    set beresp.ttl = 60s;\n")
    pupil.request(FOX).refused("pages")


def test_lesson_02_only_after_the_change(pupil: Pupil) -> None:
    pupil.load(MEDIA, "ttl = 12h", "ttl = 60s")
    pupil.request(FOX).refused("begun-late")


@pytest.mark.parametrize(
    "commands",
    [
        pytest.param("git update-index --skip-worktree varnish/store.vcl", id="skip-worktree"),
        pytest.param(
            "echo 'varnish/store.vcl filter=shipped' >.git/info/attributes\n"
            "git config filter.shipped.clean 'git show HEAD:varnish/store.vcl'",
            id="a filter",
        ),
        pytest.param(COMMIT, id="a commit"),
        pytest.param(f"{COMMIT}; git replace $(cat .run/*/lessons/shipped) HEAD", id="a replacement"),
    ],
)
def test_lesson_02_a_change_that_git_does_not_tell(pupil: Pupil, commands: str) -> None:
    """In place of bringing the shipped file back."""
    pupil.get(FOX)
    pupil.edit(MEDIA, "ttl = 12h", "ttl = 60s")
    pupil.edit("varnish/store.vcl", "grace = 24h", "grace = 23h")
    pupil.type(commands)
    try:
        pupil.reload().refused(r"varnish/store\.vcl differs from the shipped file")
    finally:
        pupil.type("rm -f .git/info/attributes .git/refs/replace/*")
        pupil.type("git update-index --no-skip-worktree varnish/store.vcl")
        pupil.restore()
    assert "23h" not in (pupil.folder / "varnish/store.vcl").read_text()


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
    """One is right for the check alone; tests/test_vcl.py has all that a rule may not use."""
    pupil.change(NORMALISE, "", THEME).refused("themes")
    curl = THEME.replace("req.url ~", 'req.http.User-Agent ~ "curl" && req.url ~')
    pupil.stack.compose("exec", "-T", "varnish", "sh", "-c", "cat >/tmp/rule.txt", typed=THEME)
    try_themes(
        pupil,
        ("", "still-a-pass"),
        (every_cookie('req.url ~ "^/stages/"'), "other-cookies"),
        (THEME.replace('req.url ~ "^/stages/"', "req.http.Cookie"), "front-page"),
        (TWO_OBJECTS, "two-objects"),
        # Only a cookie of nothing but the theme is removed; beside another one it reaches the backend.
        (THEME.replace('^/stages/"', '^/stages/" && req.http.Cookie ~ "^theme=[^;]*$"'), "cookies-lost"),
        (RETURN_HASH + THEME, "returned"),
        (curl + every_cookie("req.url"), r"The new rule in normalise\.vcl uses req\.http\.user-agent"),
        ('include "/tmp/rule.txt";', r"Varnish has loaded /tmp/rule\.txt, which is not a file of varnish/"),
    )


URL = 'req.url ~ "^/stages/" && req.url !~'
SOME = "came from the cache|The rule is for /stages/ only|must still be passes"
OTHERS = "=me came from the cache|theme=A and theme=B must share|does the rule return"


@pytest.mark.parametrize(
    ("condition", "pattern", "refusal"),
    [
        pytest.param('req.url ~ "="', "^/stages/", SOME, id="URLs like those of visitors"),
        pytest.param(
            'req.http.Cookie !~ "who|upstage_visit"', "^/stages/", SOME, id="cookies of an old check"
        ),
        pytest.param(f'{URL} "^/stages/[?]"', "^/stages/[?]", OTHERS, id="URLs with a query"),
        pytest.param(f'{URL} "[?]k[0-9a-f]{{8}}$"', "[?]k[0-9a-f]{8}$", OTHERS, id="URLs with a word"),
    ],
)
def test_lesson_03_a_rule_that_is_right_for_some_requests(
    pupil: Pupil, condition: str, pattern: str, refusal: str
) -> None:
    """The right rule for the URLs of the pattern, and one that drops too much elsewhere."""
    try_themes(pupil, (every_cookie(condition) + THEME.replace("^/stages/", pattern), refusal))


# --- 4. What is not there.

(STORE, SHIPPED, STORE_404), (_, GRACE, NO_GRACE) = changes(4)


def test_lesson_04_names_each_missing_step(pupil: Pupil) -> None:
    """And each rule that keeps a 404 for too long."""
    pupil.request("/media/WORD.png").refused("forty")
    pupil.herd("/media/WORD.png").refused("shipped")
    pupil.load(STORE, SHIPPED, STORE_404.replace("10s", "1h")).refused("too-long", 3600)
    pupil.load(STORE, "ttl = 1h", "ttl = 10s").refused("grace", 86400)
    pupil.load(STORE, GRACE, NO_GRACE).refused("forty-again")
    for _ in range(2):
        pupil.get("/media/WORD-again.png")
    pupil.refused("forty-again")
    pupil.herd("/media/WORD-more.png").refused("wait")

    # The last of these rules stores a 404, which another line undoes; then one that does not ask the backend.
    now = STORE_404
    for rule, refusal in (
        (STORE_404.replace("== 404", ">= 400"), "only-404"),
        ("    if (beresp.status != 200) { set beresp.ttl = 10s; }\n", "redirect"),
        (STORE_404.replace("ttl = 10s;", "ttl = 10s;\n        set beresp.status = 200;"), "not-404"),
        (SHIPPED.replace("200) {", "200) {\n        set beresp.ttl = 10s;"), "reached the backend 20 times"),
    ):
        pupil.load(STORE, now, rule).refused(refusal)
        now = rule
    pupil.change(STORE, "", 'sub vcl_recv { if (req.url ~ "[.]png") { return (synth(404)); } }')
    pupil.refused("not-shared", 0)


# --- 5. Forty at the door.


def one_by_one(pupil: Pupil, path: str) -> Pupil:
    """Forty requests, each after the response to the previous one."""
    for _ in range(40):
        pupil.get(path, CLASSIC)
    return pupil


def test_lesson_05_names_each_herd_that_is_missing_or_none(pupil: Pupil) -> None:
    """A new word makes up for it."""
    pupil.refused("not-requested", "/slow")
    pupil.herd("/slow?WORD").refused("another-host", "/slow")
    pupil.request("/slow?WORD", CLASSIC).refused("too-few", 1, "/slow?WORD")
    pupil.herd("/slow?WORD", host=CLASSIC).refused("copy-before")
    one_by_one(pupil, "/slow?WORD-2").refused("not-waited", 0, "/slow?WORD-2", "/slow?WORD-3")
    pupil.herd("/slow?WORD-3", host=CLASSIC, cookie="who=me")  # a crowd of passes: none waits for another
    pupil.refused("not-one", 40, "/slow?WORD-3")
    pupil.herd("/slow?WORD-4", host=CLASSIC).refused("not-requested", "/media/")
    pupil.herd("/media/fox.svg?WORD", host=CLASSIC).refused("a 404, is not stored")
    one_by_one(pupil, "/media/WORD.png").refused("one-by-one")
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


@pytest.mark.parametrize("restart", [False, True])
def test_lesson_06_a_backend_that_is_only_called_sick(pupil: Pupil, restart: bool) -> None:
    pupil.get("/?WORD")
    pupil.stack.inside("varnishadm", "backend.set_health", "*", "sick")
    try:
        pupil.wait(2)
        pupil.get("/?WORD")
        pupil.get("/stages/?WORD")
        if restart:
            pupil.stack.control("restart", "backend")
    finally:
        pupil.stack.inside("varnishadm", "backend.set_health", "*", "auto")
    pupil.stack.wait_until_ready()
    pupil.get("/stages/?WORD")
    pupil.refused("was not stopped and started|You have not requested|was running when you got")


# --- 7. Old now, new in a moment.


def watch(pupil: Pupil, seconds: float) -> Pupil:
    """What the page's loop does."""
    for _ in range(round(seconds / 0.7)):
        pupil.get("/stages/demo?WORD", method="HEAD")
        pupil.wait(0.7)
    return pupil


def test_lesson_07_names_each_missing_step(pupil: Pupil) -> None:
    """And each change that is not the lesson's."""
    pupil.request("/stages/demo?WORD").refused("not-stale")
    watch(pupil, 6.3).refused("shipped")
    pupil.load(STALE, "ttl < -10s", "ttl < 0s").refused("none-stale")
    pupil.load(STALE, "ttl < 0s", "ttl < -5s").refused("too-old")
    pupil.load(STALE, "ttl < -5s", "ttl < -3s").refused("not-watched")
    watch(pupil, 6.3).refused("not-left-alone")
    pupil.wait(12)
    pupil.request("/stages/demo?WORD").refused("not-left-alone")
    pupil.refuses(
        STALE,
        ("grace = 24h", "grace = 3s", "24-hours"),
        ("    unset beresp.http.X-Fetch-Failed;", "    set beresp.ttl = 3s;", "beresp"),
        ("    if (obj.ttl", "    set req.grace = 3s;\n    if (obj.ttl", "only-10"),
    )


# --- 8. Is mine still good?


def test_lesson_08_names_each_missing_step(pupil: Pupil) -> None:
    """Lookalikes do not count."""
    etag = pupil.get(GARDEN, CLASSIC).headers["ETag"]
    pupil.get(GARDEN, if_none_match=etag)  # nginx compares
    pupil.get(GARDEN, CLASSIC, range="bytes=0-9")
    pupil.request(GARDEN, CLASSIC, if_modified_since="Fri, 01 Jan 2100 00:00:00 GMT").refused("not-asked")
    pupil.request(GARDEN, "static.localhost", if_none_match=etag).refused("static")
    pupil.request(GARDEN, CLASSIC, if_none_match="*").refused("any")
    pupil.get(GARDEN, CLASSIC, if_none_match='"another"')
    pupil.get(f"{GARDEN}-2", CLASSIC, accept_encoding="identity", if_none_match=etag)  # 304, but fetched
    pupil.refused("no-304")

    # A 304 for a copy, but not for the ETag of the object; then the VCL is put back.
    classic = 'sub vcl_deliver { set resp.http.ETag = {""x""}; set resp.status = 304; }'
    pupil.change("varnish/classic.vcl", "", classic)
    for _ in range(2):
        assert pupil.get(GARDEN, CLASSIC, if_none_match='"x"').status_code == 304
    pupil.refused(r"varnish/classic\.vcl differs from the shipped file")
    pupil.restore()
    pupil.refused("no-304")

    own = pupil.get(GARDEN, CLASSIC, "HEAD", accept_encoding="identity").headers["ETag"]
    pupil.get(GARDEN, CLASSIC, "HEAD", accept_encoding="identity", if_none_match=f"W/{own}")
    pupil.request(FOX).refused("not-2")
    pupil.load(*changes(8)[0])
    pupil.get(f"{FOX}-2")
    pupil.get(f"{FOX}-3")
    copy = pupil.get(f"{FOX}-2", "nginx.localhost")
    pupil.get(f"{FOX}-2", "nginx.localhost", if_none_match=copy.headers["ETag"])  # 304 from the backend
    pupil.refused("not-confirmed")
    pupil.wait(2)
    pupil.request(f"{FOX}-2").refused("restore")


# --- 9. Take it back.


def look_at_pictures(pupil: Pupil) -> Pupil:
    """Request both on both hosts."""
    for host in HOSTS:
        for picture in (FOX, DIVA):
            pupil.get(picture, host, "HEAD")
    return pupil


def purge(pupil: Pupil, what: str) -> Pupil:
    pupil.stack.make("purge", what.replace("WORD", pupil.word))
    return pupil


def test_lesson_09_names_each_missing_step(pupil: Pupil) -> None:
    """Lookalikes do not count."""
    pupil.refused("no-fox", "localhost")
    pupil.request(FOX).refused("no-diva", "localhost")
    pupil.get(DIVA)
    purge(pupil, "URL=/media/fox.svg")
    look_at_pictures(pupil).refused("not-warm", CLASSIC)
    purge(pupil, "URL=/media/fox.svg").refused("fox-again", "localhost")
    pupil.request(FOX, method="HEAD").refused("diva-again", "localhost")
    pupil.request(DIVA, method="HEAD").refused("fox-again", CLASSIC)
    look_at_pictures(pupil).refused("not-outside")
    pupil.get(FOX, method="PURGE")
    purge(pupil, "URL=/media/diva.svg")
    purge(pupil, "TAG=media")
    look_at_pictures(pupil).refused("no-tag")
    purge(pupil, "TAG=medium-diva-svg").refused("diva-last", "localhost")


def test_lesson_09_everything_is_gone(pupil: Pupil) -> None:
    """A ban of everything does not count as a purge of the fox, and spoils one that follows."""
    look_at_pictures(pupil)
    pupil.stack.inside("varnishadm", "ban", "req.url ~ .")
    for picture in (FOX, DIVA):
        pupil.get(picture, CLASSIC, "HEAD", cache_control="no-cache")
    pupil.refused("not-purged")  # it says what a ban by varnishadm is
    purge(pupil, f"URL={FOX}")
    pupil.stack.inside("varnishadm", "ban", "req.url ~ .")
    look_at_pictures(pupil).refused("diva-gone", "localhost")


def test_lesson_09_a_purge_that_all_may_send(pupil: Pupil) -> None:
    pupil.load("varnish/purge.vcl", 'if (local.socket == "purge")', 'if (req.method == "PURGE")')
    look_at_pictures(pupil)
    assert pupil.get(FOX, method="PURGE").status_code == 200
    look_at_pictures(pupil).refused(r"varnish/purge\.vcl differs from the shipped file")
    pupil.restore()
    pupil.refused("not-purged")
    purge(pupil, f"URL={FOX}")
    look_at_pictures(pupil).refused("allowed", 200)


# --- 10. One copy, two sizes.

IN_VARNISH, IN_NGINX = changes(10)


def request(pupil: Pupil, path: str, host: str = "localhost", *accepted: str) -> Pupil:
    """With each value of Accept-Encoding."""
    for value in accepted or ("gzip", "identity"):
        pupil.get(path, host, accept_encoding=value)
    return pupil


def gzip_in_nginx(pupil: Pupil) -> None:
    pupil.load(*IN_NGINX)
    # nginx's new workers take over a moment later.
    wait_until(lambda: pupil.get(f"{DIVA}-2", accept_encoding="gzip").headers.get("Content-Encoding"))


def test_lesson_10_names_each_missing_step(pupil: Pupil) -> None:
    """Lookalikes do not count."""
    pupil.get(DIVA, method="HEAD", accept_encoding="gzip")
    pupil.request(DIVA, method="HEAD", accept_encoding="identity").refused("not-requested")
    request(pupil, "/media/letter.svg?WORD")  # 788 bytes
    request(pupil, "/media/bench/small.swf?WORD").refused("not-compressed")
    request(pupil, FOX, "localhost", "br", "identity").refused("no-gzip")
    pupil.begin(10)
    request(pupil, FOX, "localhost", "gzip")
    request(pupil, FOX, CLASSIC, "identity").refused("no-identity")
    request(pupil, f"{DIVA}-1", "localhost", "identity").refused("different-urls")
    request(pupil, DIVA).refused("each-time")
    # A picture that no server compresses, and a download that ends early, for nginx to log fewer bytes.
    pupil.send(f"GET /media/festival-winter-2.png?{pupil.word} HTTP/1.1", "Accept-Encoding: gzip")
    pupil.refused("each-time")
    pupil.load(*IN_VARNISH)
    request(pupil, f"{DIVA}-2")
    for host in (CLASSIC, "nginx.localhost"):  # there nginx compresses
        request(pupil, f"{DIVA}-2", host)
    pupil.request(f"{DIVA}-2", range="bytes=0-9").refused("as-it-was")
    gzip_in_nginx(pupil)
    request(pupil, f"{DIVA}-2").refused("restore")


def test_lesson_10_compressed_by_nginx_before_varnish_let_go(pupil: Pupil) -> None:
    """nginx passes on unchanged what Varnish has compressed."""
    request(pupil, DIVA)
    gzip_in_nginx(pupil)
    request(pupil, f"{DIVA}-2").refused("each-time")


def test_lesson_10_a_line_of_nginx_that_was_written_by_hand(pupil: Pupil) -> None:
    """nginx's own line for one URL, as if it were of another."""
    request(pupil, DIVA)
    pupil.stack.inside("varnishadm", "param.set", "http_gzip_support", "off")
    try:
        pupil.get(f"{DIVA}-2", accept_encoding="identity")
    finally:
        pupil.stack.inside("varnishadm", "param.set", "http_gzip_support", "on")
    pupil.wait(1.2)
    log = pupil.stack.log_of("nginx").splitlines()
    line = next(line for line in log if pupil.word in line and "answered=backend:miss" in line)
    forged = line.replace(f"diva.svg?{pupil.word} ", f"diva.svg?{pupil.word}-2 ")
    pupil.stack.compose("exec", "-T", "nginx", "sh", "-c", "cat >/proc/1/fd/1", typed=forged + "\n")
    pupil.wait(1.2).refused("as-it-was")


# --- 11. A line kept open.

SITE = "nginx/sites/classic.conf"
(POOL,) = (block.text for block in solution(11) if block.language == "nginx")  # the other way


def thirty(pupil: Pupil, name: str, host: str = CLASSIC) -> Pupil:
    """Thirty URLs, each over a connection of the client's own."""
    for number in range(30):
        pupil.get(f"{FOX}-{name}-{number}", host)
    return pupil


def test_lesson_11_one_near_miss_after_the_other(pupil: Pupil) -> None:
    pupil.refused("thirty")
    thirty(pupil, "default", "localhost").refused("default-host")
    with requests.Session() as client:  # as one curl with thirty URLs: its own connection is kept, no other
        for number in range(30):
            url = pupil.stack.url(f"/media/fox.svg?{pupil.word}-{number}", "127.0.0.1")
            client.get(url, headers={"Host": CLASSIC})
    pupil.refused("too-many", 30, "HTTP/1.0")
    pupil.load(SITE, "http://$varnish_tcp", "http://backend").refused("around-varnish", 0)
    pupil.edit(SITE, "http://backend", "http://$varnish_tcp")
    pupil.load(SITE, "        proxy_http_version 1.0;\n", "")
    thirty(pupil, "still").refused("too-many", 30, "HTTP/1.1")
    pupil.edit(SITE, "http://$varnish_tcp", "http://varnish").refused("nginx has not loaded what is saved")
    pupil.reload().refused("not-seen")
    thirty(pupil, "after").refused("no-http2")
    pupil.send(f"GET /media/fox.svg?{pupil.word} HTTP/2.0").refused("no-http2")  # a version that was typed


def test_lesson_11_changed_before_it_was_seen(pupil: Pupil) -> None:
    """By a pool of connections, in the version of HTTP that has them."""
    pupil.edit(SITE, "server {\n", f"{POOL}\nserver {{\n")
    pupil.edit(SITE, "http://$varnish_tcp", "http://kept")
    pupil.load(SITE, "        proxy_http_version 1.0;\n", "").wait(2)  # until the workers are replaced
    thirty(pupil, "after").refused("few-before")


# --- 12. Slashdot.


def measurement(topology: str, tier: str, answers: int, **figures: object) -> dict[str, Any]:
    """A line of a report, as `make compare` writes it."""
    caches = [{"row": "/", "tier": tier, "outcome": "hit", "answers": answers}]
    run = {"users": 50, "seconds": 30.0, "verdict": "PASS", "reason": "", "backend_requests_per_second": 1.0}
    return {"topology": topology, **run, "caches": caches, **figures}


def write(pupil: Pupil, **nginx: object) -> Pupil:
    """An invented report."""
    report(pupil, [measurement("default", "varnish", 600), measurement("nginx", "backend", 600, **nginx)])
    return pupil


def report_file(pupil: Pupil) -> Path:
    """Where `make compare` writes its report."""
    return pupil.folder / ".run" / pupil.stack.project / "compare" / "report.json"


def report(pupil: Pupil, measurements: list[dict[str, Any]]) -> Pupil:
    """Write one with these measurements."""
    file = report_file(pupil)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"measurements": measurements}))
    return pupil


def excuse_a_busy_machine(pupil: Pupil) -> None:
    """On a busy machine Locust is the limit, and the check says so; all other evidence is the same."""
    measured = json.loads(report_file(pupil).read_text())["measurements"]
    if "INCONCLUSIVE" in [one["verdict"] for one in measured]:
        pupil.refused("locust")
        report(pupil, [{**one, "verdict": "PASS"} for one in measured])


def test_lesson_12_reports_that_are_not_enough_or_invented(pupil: Pupil) -> None:
    pupil.refused("not-compared")
    write(pupil)
    pupil.wait(1)
    pupil.begin(12)  # that report is of an earlier attempt
    pupil.refused("not-compared")
    report(pupil, [measurement("default", "varnish", 600)]).refused("topologies", "default")
    write(pupil, users=40).refused("different-users", 50, 40)
    report(pupil, [measurement(name, "varnish", 600, users=20) for name in ("default", "nginx")])
    pupil.refused("few-users", 20)
    write(pupil, seconds=10.0).refused("short")
    write(pupil, verdict="INCONCLUSIVE", reason="timers were late")
    pupil.refused("locust", "nginx", "timers were late")

    # The check counts in the servers' logs; the requests below are as many, but not from a crowd.
    report(pupil, [measurement(name, "none", 0, caches=[]) for name in ("default", "nginx")])
    pupil.refused("0 responses of the default host came through Varnish")
    write(pupil, backend_requests_per_second=40.0)
    pupil.refused("600 responses of the default host came through Varnish, which has had")
    for _ in range(12):
        pupil.herd(FOX, 50, CLASSIC)
    pupil.refused("backend", 600, 0)
    for number in range(200):
        pupil.get(f"{FOX}-{number}")
    for _ in range(12):
        pupil.herd(FOX, 50, "nginx.localhost")
    pupil.refused(r"it had 2\d\d requests of the default host and 600 of nginx\.localhost")
    for _ in range(14):
        pupil.herd(FOX, 50, "nginx.localhost")
    pupil.refused("not-even")
