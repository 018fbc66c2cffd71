"""Lessons 13 to 22: what is missing, near misses and shortcuts, each refused by its sentence in lesson.toml.

Lesson 18's are in tests/test_load_models.py, lesson 17's in tests/test_watch_the_stack.py.
"""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import pytest

from faults.fault import faults
from lessons.checking.lesson import LESSONS
from lessons.learners.printed import changes
from lessons.learners.school import Learner
from tests.stack import REPO


@pytest.fixture(scope="module", autouse=True)
def as_shipped(learner: Learner) -> Iterator[None]:
    """The next file's tests begin without extras."""
    yield
    learner.start_with("")


# --- 13. A page in two parts.

((STORE, _, ESI_RULE),) = changes(13)
CONDITION = 'beresp.http.Surrogate-Control ~ "ESI/1.0"'
ESI = "set beresp.do_esi = true;"
HEADER = "unset beresp.http.Surrogate-Control;"


def test_lesson_13_one_near_miss_after_the_other(learner: Learner) -> None:
    learner.refused("not-requested")
    learner.get("/playbill?WORD")
    learner.edit(STORE, "", ESI_RULE.replace(CONDITION, 'bereq.url !~ "/id"').replace(HEADER, ""))
    learner.refused(r"store\.vcl is saved, but Varnish has not loaded it")
    learner.reload()
    learner.request("/playbill?WORD").refused("not-assembled")
    learner.request("/playbill?WORD-2").wait(2).refused("seen-once")
    learner.request("/playbill?WORD-2").refused("header")
    learner.load(STORE, ESI, f"{ESI} {HEADER}").refused("other-pages")

    # A page that is as new as its number, a number that is as old as its page, no parts at all, and none
    # without a query.
    learner.change(STORE, "", ESI_RULE.replace(ESI, f"{ESI} set beresp.ttl = 1s;"))
    learner.refused("page-expired", "stale")
    old_number = 'sub vcl_backend_response { if (bereq.url ~ "/audience") { set beresp.ttl = 60s; } }'
    learner.change(STORE, "", f"{ESI_RULE}\n{old_number}")
    learner.stack.make("purge", "URL=/playbill/audience")
    learner.refused("old-number")
    learner.load(STORE, ESI, "").refused("whole")
    learner.change(STORE, "", ESI_RULE.replace("if (", 'if (bereq.url ~ "[?]" && '))
    for path in ("/playbill", "/playbill/audience"):  # the copies of the rules before
        learner.stack.make("purge", f"URL={path}")
    learner.refused("without-query")


def test_lesson_13_changed_before_it_was_seen(learner: Learner) -> None:
    learner.change(STORE, "", ESI_RULE)
    learner.request("/playbill?WORD-2").wait(2).request("/playbill?WORD-2").refused("changed-first")


# --- 14. A client that does not read.

PROGRAM = "lessons/14-a-client-that-does-not-read/slow_reader.py"
STREAM = "nginx/streams/stage.conf.template"


def run(learner: Learner, old: str = "rehearsal", new: str = "rehearsal") -> Learner:
    """Run the page's program, with a change."""
    program = (learner.folder / PROGRAM).read_text().replace(old, new)
    learner.stack.compose("exec", "-T", "locust", "python", "-", typed=program)
    return learner


def enlarge(learner: Learner, listener: str) -> None:
    """Save a larger buffer for a listener."""
    learner.edit(STREAM, f"${{{listener}}} sndbuf=64k", f"${{{listener}}} sndbuf=1m")


def test_lesson_14_one_near_miss_after_the_other(learner: Learner) -> None:
    learner.refused("not-cut-off")
    with socket.create_connection(("127.0.0.1", learner.stack.ports["SWF_PORT"])) as client:
        client.sendall(b"x" * 3000 + b"\0" + b"x" * 3000 + b"\0")
        while client.recv(4096):  # until the stage has closed the connection
            pass
    learner.refused("another-reason", "overlong")
    run(learner, new="demo").refused("another-stage", "demo")
    run(learner).refused("larger")
    # What a client has read first counts as sent, too; nothing has been changed.
    run(learner, "receive_buffer=2048", "receive_buffer=900_000").refused("shipped")
    enlarge(learner, "LISTEN_LOAD_STAGE")
    learner.refused("nginx has not loaded what is saved")
    learner.reload()
    run(learner).refused("not-larger")


def test_lesson_14_changed_before_it_was_seen(learner: Learner) -> None:
    enlarge(learner, "LISTEN_STAGE")
    learner.reload()
    run(learner).refused("larger-before")


# --- 15. Four languages.

((NORMALISE, _, LANGUAGES),) = changes(15)


def read_german(learner: Learner, query: str = "") -> Learner:
    for language in ("de", "de-AT,de;q=0.9", "de-CH;q=0.9,en;q=0.5"):
        learner.get(f"/welcome?WORD{query}", method="HEAD", accept_language=language)
    return learner


def test_lesson_15_names_each_missing_step_and_each_wrong_rule(learner: Learner) -> None:
    learner.series("/welcome?WORD", 3, method="HEAD", accept_language="de").refused("three-languages")
    read_german(learner).refused("not-shared", "miss, miss, miss")
    learner.change(NORMALISE, "", LANGUAGES).refused("not-seen")

    english = 'set req.http.Accept-Language = "en";'
    no_vary = (
        "sub vcl_hash { hash_data(req.http.Accept-Language); }\nsub vcl_deliver { unset resp.http.Vary; }"
    )
    everywhere = LANGUAGES.replace(
        'req.url ~ "^/welcome(\\?|$)"', 'req.method == "GET" || req.method == "HEAD"'
    )
    returned = 'sub vcl_recv { if (req.url !~ "^/welcome") { return (hash); } }'

    def only(do: str) -> str:
        return f'sub vcl_recv {{ if (req.url ~ "^/welcome") {{ {do} }} }}'

    rules = (
        (only("unset req.http.Accept-Language;"), "not-german"),
        (only('set req.http.Accept-Language = "de";'), "nothing in particular got de, de, de, de, de"),
        (LANGUAGES.replace(english, f"{english} return (pass);"), "were miss, miss, pass, pass, pass"),
        (LANGUAGES + no_vary, "no-vary"),
        (everywhere, "welcome-only"),
        (LANGUAGES + returned, "The change also breaks other caching rules"),
    )
    added = (("", rule, refusal) for rule, refusal in rules)
    learner.refuses(NORMALISE, *added, look=lambda: read_german(learner, "-2"))


# --- 19. Something is broken.


def title(learner: Learner) -> str:
    """The fault that was drawn."""
    note = json.loads((learner.folder / ".run" / learner.stack.project / "fault.json").read_text())
    return next(fault.title for fault in faults() if fault.name == note["drawn"])


def mend(learner: Learner) -> str:
    """The command in the solution's row of this fault."""
    page = (LESSONS / "19-something-is-broken" / "solution.md").read_text()
    (row,) = (line for line in page.splitlines() if f"| {title(learner)} |" in line)
    return row.rsplit("| `")[-1].removesuffix("` |")


def test_lesson_19_names_each_missing_step(learner: Learner) -> None:
    """What make break and make faults say does not tell the fault, and make mend ends it."""
    learner.refused("not-broken")
    said = learner.stack.make("break", "FAULT=random")
    assert "A visitor writes: " in said
    assert not any(fault.title in said for fault in faults())
    assert "* " not in learner.stack.make("faults")
    code, refused = learner.check()
    assert code, refused
    assert any(sentence in refused for sentence in ("is not healthy", "still gets", "is paused")), refused
    learner.stack.make("mend")
    learner.refused("not-broken")


# --- 21. Write the test first.

(TEST, _, VTC), (_, _, NO_READER) = changes(21)


def test_lesson_21_one_near_miss_after_the_other(learner: Learner) -> None:
    learner.refused("no-test")
    learner.edit(TEST, "", "")
    for test, refusal in (
        (
            VTC.replace("&reader-1", "").replace("reader-2&", "").replace("?reader-3", ""),
            "passes-without-rule",
        ),
        (VTC.replace('req.url == "/stages/?a"', 'req.url == "/stages/?b"'), "fails-with-rule"),
        (VTC.replace("?a&", "?").replace("&a", "").replace("?a", ""), "drops-query"),
        (VTC, "shipped"),
    ):
        (learner.folder / TEST).write_text(test)
        learner.refused(refusal)
    learner.refuses(
        NORMALISE,
        ("", NO_READER.replace("([?&])reader-", "([?&])[a-z]*reader-"), "proofreader"),
        ("", NO_READER.replace("[?&]$", "&$"), "question-mark"),
        ("", 'sub vcl_hash { hash_data(regsub(req.url, "reader.*", "")); }', "not-shared"),
    )


# --- 22. Crawler weather.

CRAWLER = "lessons/22-crawler-weather/crawler.py"
((QUERIES, PAGES, NO_TRAIL),) = changes(22)
DROP = 'set req.url = regsub(regsuball(req.url, "(?<=[?&])trail-[^&]*(&|$)", ""), "[?&]$", "");'


@contextmanager
def crawling(learner: Learner) -> Iterator[None]:
    """While the page's program asks, for ten seconds; from its fourth second on."""
    program = (learner.folder / CRAWLER).read_text().replace("SECONDS = 25", "SECONDS = 10")
    typed = ("exec", "-T", "locust", "python", "-", learner.word)
    crawler = Thread(target=learner.stack.compose, args=typed, kwargs={"typed": program})
    crawler.start()
    try:
        learner.wait(4)
        yield
    finally:
        crawler.join()


NEWCOMERS = "/slow?WORD-new-{}"  # each of them asks for another page


def see_the_crawler(learner: Learner) -> None:
    """What the page says before the rule."""
    with crawling(learner):
        learner.get("/slow?WORD-known", cookie="upstage_seen=1")
        learner.herd(NEWCOMERS, 8)


def test_lesson_22_one_near_miss_after_the_other(learner: Learner) -> None:
    learner.refused("no-crawl", 0, 0)
    with crawling(learner):
        pass
    learner.herd("/slow?WORD-late-{}", 8).refused("no-newcomer")
    with crawling(learner):
        learner.herd(NEWCOMERS, 8)
    learner.wait(2).request("/slow?WORD-late", cookie="upstage_seen=1").refused("no-visitor")
    see_the_crawler(learner)
    learner.refused("shipped")

    def only(do: str, when: str = 'req.url ~ "^/[^?.]*[?].*trail-"') -> str:
        return f"sub vcl_recv {{ if ({when}) {{ {do} }} }}"

    def anywhere_but(paths: str) -> str:
        return only(DROP, f'req.url !~ "{paths}"')

    learner.refuses(
        QUERIES,
        ("", only("return (synth(403));"), "not-shared"),
        ("", only('set req.url = regsub(req.url, "[?].*", "");'), "not-shared"),
        ("", only('set req.url = regsub(req.url, "&trail-[^&]*", "");'), "not-shared"),
        (PAGES, NO_TRAIL.replace('"[?&]$"', '"&$"'), "question-mark"),
        (PAGES, NO_TRAIL.replace("(trail-", "([a-z]*trail-"), "other-words"),
        (PAGES, NO_TRAIL.replace("trail-", "trail"), "other-words"),
        ("", anywhere_but("^/admin/"), "elsewhere"),
        ("", anywhere_but("^/(admin|media|style)/"), "elsewhere"),  # a POST
        (PAGES, NO_TRAIL.replace("    }\n", "        return (hash);\n    }\n"), "private"),
        (PAGES, NO_TRAIL + '    set req.http.X-Known = "yes";\n', "lane"),
        (PAGES, NO_TRAIL, "crawl-again"),
    )
    with crawling(learner):
        pass
    learner.refused("newcomer-again")


def test_lesson_22_changed_before_it_was_seen(learner: Learner) -> None:
    learner.change(QUERIES, PAGES, NO_TRAIL)
    see_the_crawler(learner)
    learner.refused("no-crawl")


# --- 20. The header from the other side.

FOLDER = "lessons/20-the-header-from-the-other-side"
APP = "app.localhost"
EVIL = {"referer": "https://evil.example/"}


def test_lesson_20_one_near_miss_after_the_other(learner: Learner) -> None:
    learner.refused("not-requested")
    headers = learner.folder / FOLDER / "headers.toml"
    right = shipped = (REPO / FOLDER / "headers.toml").read_text()
    headers.write_text(shipped)  # the solution may have been typed here before
    for _, old, new in changes(20):
        right = right.replace(old, new)
    with learner.application():
        try:
            learner.begin(20)
            learner.request("/price?WORD", APP).refused("not-10")
            for line, refusal in (
                ("max-age=0, ", "max-age"),
                ('Vary = "Accept-Language"\n', "a reader of fr got 'Guten Abend'"),
                ("ETag = '\"1\"'\n", "report"),
                ('Vary = "Referer"', "not-poisoned"),
            ):
                headers.write_text(right.replace(line, ""))
                learner.refused(refusal)
            for fields in (EVIL, {}):
                learner.get("/news?WORD", APP, **fields)
            learner.refused("poisoned")
            headers.write_text(right.replace('s-maxage=60"\nVary', 'no-store"\nVary'))
            learner.refused("not-kept")
        finally:
            headers.write_text(shipped)


# --- 16. Three caches.


def ring(learner: Learner, files: int = 12) -> Learner:
    """Request so many files."""
    return learner.series("/media/fox.svg?WORD-{}", files, method="HEAD")


def test_lesson_16_one_cache(learner: Learner) -> None:
    learner.start_with("")
    learner.begin(16)
    ring(learner).refused("one-cache")


def test_lesson_16_names_each_missing_step(learner: Learner) -> None:
    """And a second lost cache."""
    learner.start_with("ring")
    learner.begin(16)
    learner.refused("twice", 0)
    ring(learner)
    ring(learner).refused("not-moved")
    learner.stack.compose("kill", "varnish-2")
    ring(learner).refused("bring-back", "varnish-2")
    learner.stack.make("up")
    learner.refused("bring-back", "varnish-2")
    learner.stack.compose("kill", "varnish-3")
    ring(learner).refused("two-lost", "varnish-2 and varnish-3")
    learner.stack.make("up")


def test_lesson_16_files_that_were_not_requested_meanwhile(learner: Learner) -> None:
    learner.start_with("ring")
    learner.begin(16)
    ring(learner, 30)
    files = [f"/media/fox.svg?WORD-{number}" for number in range(30)]
    caches = {file: learner.get(file, method="HEAD").headers["Cache-Status"] for file in files}
    lost = [file for file, cache in caches.items() if cache.startswith("varnish-2")]
    learner.stack.compose("kill", "varnish-2")
    learner.get(lost[0], method="HEAD")
    learner.stack.make("up")
    ring(learner, 30).refused("not-requested", len(lost) - 1)
