"""The lessons as pages, and what `make check` reports."""

import json
import re
from pathlib import Path

import pytest

from backend.tests.forked import SRC
from backend.tests.running_backend import Backend, PurgedCache, ask
from upstage.state import progress
from upstage.web.course import read_course, read_lesson
from upstage.web.visit import Published

LESSONS = SRC.parent.parent / "lessons"
STACK = Published(http=9080, https=9443, locust=9089, observe=9099)
RESULTS = ({"lesson": 1, "state": "done", "answers": 2}, {"lesson": 2, "state": "begun"})
KEPT = {1: progress.Result("done"), 2: progress.Result("begun")}
WORD = "k1a2b3c4d"
ASKED = {
    "lesson": 1,
    "state": "begun",
    "word": WORD,
    "said": "One question is left.",
    "choices": list("wxyz"),
}


DONE = {"lesson": 1, "state": "done", "word": WORD}
FIRST, SOLUTION = "/lessons/01-first-hit", "/lessons/01-first-hit/solution"


def report(school: Backend, *results: dict[str, object]) -> None:
    """Send results, as `make check` does."""
    assert school.upstage("lessons", stdin=json.dumps(results)) == (0, "", "")


def test_every_lesson_has_a_page_with_its_sections(school: Backend) -> None:
    listed = re.findall(r'<b><a href="(/lessons/[^"]+)">', ask(school, "/lessons/").text)
    folders = sorted(path.parent for path in LESSONS.glob("[0-9]*/README.md"))
    assert listed == [f"/lessons/{folder.name}" for folder in folders]
    for url, folder in zip(listed, folders, strict=True):
        page = ask(school, url)
        assert page.status == 200
        headings = re.findall(r"^## (.*)$", (folder / "README.md").read_text(), re.M)
        assert re.findall(r"<h2[^>]*>(.*?)</h2>", page.text) == ["Where you are", *headings]
        assert page.text.count("<h1") == 1
        assert "<button" not in page.text  # lesson.js adds them: without scripts they would do nothing
        assert "<details><summary>Hint</summary>" in page.text


def test_pages_are_cached_for_a_minute_with_a_tag(school: Backend) -> None:
    for url in ("/lessons/", "/lessons/01-first-hit", "/lessons/course", "/lessons/cheat-sheet"):
        headers = ask(school, url).headers
        assert headers["cache-control"] == "max-age=0, s-maxage=60"
        assert headers["x-cache-tags"] == "lessons"
    assert ask(school, "/lessons").headers["location"].endswith("/lessons/")
    for url in ("/lessons/99-nothing", "/lessons/checking", "/lessons/01-first-hit/check.py"):
        missing = ask(school, url)
        assert missing.status == 404
        assert "x-cache-tags" not in missing.headers


def test_without_the_folder_there_is_no_page_and_no_link(server: Backend, tmp_path: Path) -> None:
    assert ask(server, "/lessons/").status == 404
    assert "/lessons/" not in ask(server, "/").text
    assert read_course(tmp_path / "nothing", STACK) is None


def test_commands_have_the_ports_of_this_stack() -> None:
    commands = "curl localhost:8080 https://localhost:8443/ localhost:8089 localhost:9090 :8080"
    text = f"# 3. A\n\nGoal. More.\n\n    {commands}\n"
    lesson = read_lesson("03-a", text, STACK)
    assert (lesson.number, lesson.title, lesson.goal) == (3, "A", "Goal.")
    assert "curl localhost:9080 https://localhost:9443/ localhost:9089 localhost:9099 :8080" in lesson.body


@pytest.mark.parametrize(
    ("block", "offered"),
    [("    make up\n", True), ("```sh\nmake up\n```\n", True), ("```vcl\nsub a { }\n```\n", False)],
)
def test_a_block_scrolls_by_keyboard_and_can_be_copied_if_it_is_commands(block: str, offered: bool) -> None:
    body = read_lesson("03-a", f"# 3. A\n\n{block}", STACK).body
    assert ('<pre tabindex="0" data-copy="">' if offered else '<pre tabindex="0">') in body


def test_a_link_leads_to_a_page_of_the_site_or_is_text() -> None:
    ours = "[one](../01-first-hit/README.md) [two](../02-b) [`file`](../../loadtest/README.md)"
    body = read_lesson("03-a", f"# 3. A\n\n{ours} [web](https://example.org/)\n", STACK).body
    assert '<a href="/lessons/01-first-hit">one</a> <a href="/lessons/02-b">two</a>' in body
    assert "<code>file</code>" in body
    assert "loadtest" not in body
    assert '<a href="https://example.org/">web</a>' in body


def test_links_from_the_solution_and_the_course_are_seen_from_their_folders(school: Backend) -> None:
    solution = "# 3. A: solution\n\n[course](../../docs/course.md#glossary) [rules](../../docs/rules.md)\n"
    body = read_lesson("03-a", "# 3. A\n", STACK, solution).solution
    assert '<a href="/lessons/course#glossary">course</a> rules' in body
    page = ask(school, "/lessons/course").text
    for text in (
        '<a href="/lessons/01-first-hit">First hit</a>',
        '<a href="/lessons/cheat-sheet">',
        '<img src="/lessons/pictures/order.svg"',
        '<h2 id="glossary">Glossary</h2>',
    ):
        assert text in page
    assert "style=" not in page  # the pages' policy would block it
    for link in set(re.findall(r'(?:href|src)="(/lessons/[^"#]+)', page)):
        assert ask(school, link).status == 200, link


def test_the_order_of_study_is_in_the_list_with_the_encores_after_the_lessons(school: Backend) -> None:
    page = ask(school, "/lessons/").text
    lessons, _, encores = page.partition('<h2 id="encores">')
    assert "Encore:" not in lessons
    assert encores.count('">Encore: ') == encores.count('<span class="goal">') > 0


def test_the_cheat_sheet_has_its_own_style_and_the_ports_of_this_stack(tmp_path: Path) -> None:
    school = Backend(tmp_path, UPSTAGE_LESSONS=str(LESSONS), UPSTAGE_HTTP_PORT="9080")
    sheet = ask(school, "/lessons/cheat-sheet")
    assert "http://localhost:9080/" in sheet.text
    assert "style-src 'unsafe-inline'" in sheet.headers["content-security-policy"]
    [picture] = re.findall(r'<img src="([^"]+)"', sheet.text)
    drawing = ask(school, f"/lessons/{picture}")
    assert (drawing.status, drawing.headers["content-type"]) == (200, "image/svg+xml")
    assert drawing.headers["x-cache-tags"] == "lessons"
    for other in ("", "nothing.svg", "..%2fcheat-sheet.html"):
        assert ask(school, f"/lessons/pictures/{other}").status == 404
    school.end()


def test_a_result_is_shown_and_purges_the_pages_once(tmp_path: Path) -> None:
    cache = PurgedCache()
    school = Backend(tmp_path, UPSTAGE_LESSONS=str(LESSONS), UPSTAGE_PURGE=cache.address)
    assert "0 of " in ask(school, "/lessons/").text
    report(school, *RESULTS)
    report(school, *RESULTS)
    assert cache.tags.count("lessons") == 1
    page = ask(school, "/lessons/").text
    assert "1 of " in page
    assert re.findall(r'<li data-state="(\w+)">', page) == ["done", "begun"]
    assert "This lesson is done." in ask(school, "/lessons/01-first-hit").text
    assert "This lesson has begun" in ask(school, "/lessons/02-how-long-is-fresh").text

    cache.close()
    changed = json.dumps([{"lesson": 2, "state": "done"}])
    code, _, said = school.upstage("lessons", stdin=changed)
    assert (code, "not purged yet" in said) == (1, True)  # the pages are right within a minute
    assert "1 of " in ask(school, "/lessons/").text
    school.end()


def marked(word: str) -> str:
    return f'fox.svg?<mark class="word">{word}</mark>'


# By name: the page, the result of its lesson, what the page says then, and what it does not say.
STATES: dict[str, tuple[str, dict[str, object], list[str], list[str]]] = {
    "not begun": (FIRST, {}, ["make lesson LESSON=1<", "make learn LESSON=1<", marked("WORD")], []),
    "begun": (
        FIRST,
        {"state": "begun", "word": WORD},
        [marked(WORD), "make check LESSON=1<"],
        ["WORD", "make learn LESSON=1<", SOLUTION],
    ),
    "begun, word unknown": (FIRST, {"state": "begun"}, ["in place of", 'data-word=""', marked("WORD")], []),
    "checked, with a question": (
        FIRST,
        ASKED,
        [
            "One question is left.",
            "For how many seconds is this copy fresh",
            *(f"<b>{letter})</b> {choice} " for letter, choice in zip("abcd", "wxyz", strict=True)),
            *(f"make check LESSON=1 ANSWER={letter}<" for letter in "abcd"),
        ],
        [SOLUTION],
    ),
    "checked, in HTML": (
        FIRST,
        ASKED | {"said": "<script>\ud800", "choices": ["<b>", "&amp;", "x", "y"]},
        ["&lt;script&gt;?", "&lt;b&gt;", "&amp;amp;"],
        ["<script>"],
    ),
    "closed solution": (SOLUTION, ASKED, ["can be read here when the lesson is done"], []),
    "done": (FIRST, DONE, [SOLUTION, "/lessons/02-how-long-is-fresh"], []),
    "open solution": (SOLUTION, DONE, ["1. First hit: solution</h1>", marked(WORD)], []),
}


@pytest.mark.parametrize(("path", "result", "said", "unsaid"), STATES.values(), ids=STATES)
def test_a_page_says_how_far_the_learner_is(
    school: Backend, path: str, result: dict[str, object], said: list[str], unsaid: list[str]
) -> None:
    report(school, {"lesson": 1, "state": "", **result})
    page = ask(school, path).text
    assert [text for text in said if text not in page] == []
    assert [text for text in unsaid if text in page] == []


def test_a_closed_solution_is_not_stored(school: Backend) -> None:
    report(school, ASKED)
    closed = ask(school, SOLUTION)
    assert (closed.status, closed.headers["cache-control"]) == (404, "no-store")
    assert "x-cache-tags" not in closed.headers


def test_every_lesson_has_a_solution() -> None:
    course = read_course(LESSONS, STACK)
    assert course
    assert [lesson.name for lesson in course.lessons if not lesson.solution] == []


def test_the_texts_are_kept_and_a_long_one_is_cut(tmp_path: Path) -> None:
    progress.keep_progress(tmp_path, json.dumps([ASKED | {"said": "x" * (progress.MAX_SAID + 1)}]))
    assert progress.read_progress(tmp_path) == {
        1: progress.Result("begun", WORD, "x" * progress.MAX_SAID, tuple("wxyz"))
    }
    assert not progress.keep_progress(tmp_path, json.dumps([ASKED | {"said": "x" * progress.MAX_SAID}]))


def test_missing_texts_are_empty(tmp_path: Path) -> None:
    for told in ({}, {"word": None, "said": None, "choices": None}, {"word": "", "said": "", "choices": []}):
        progress.keep_progress(tmp_path, json.dumps([{"lesson": 1, "state": "begun"} | told]))
        assert progress.read_progress(tmp_path) == {1: progress.Result("begun")}


def test_a_file_of_an_earlier_release_is_read(tmp_path: Path) -> None:
    (tmp_path / progress.FILE).write_text('{"1": "done", "2": "begun"}')
    assert progress.read_progress(tmp_path) == KEPT


@pytest.mark.parametrize(
    "told",
    [
        *("", "no JSON", "{}x", "3", "[[]]", "null"),
        *('[{"lesson": 1}]', '[{"lesson": 1, "state": "lost"}]', '[{"lesson": 1, "state": ["done"]}]'),
        *(
            json.dumps([ASKED | wrong])
            for wrong in (
                {"word": "k1a2b3c4"},
                {"word": "K1A2B3C4D"},
                {"word": WORD + "\n"},
                {"word": 7},
                {"said": 7},
                {"choices": ["one"]},
                {"choices": [1, 2, 3, 4]},
                {"choices": 4},
            )
        ),
        json.dumps(RESULTS) + " " * progress.MAX_REPORT,
    ],
)
def test_what_is_no_result_changes_nothing(tmp_path: Path, told: str) -> None:
    progress.keep_progress(tmp_path, json.dumps(RESULTS))
    with pytest.raises(progress.ProgressError):
        progress.keep_progress(tmp_path, told)
    assert progress.read_progress(tmp_path) == KEPT


@pytest.mark.parametrize(
    "damaged", ["", "[]", "{", '{"a": "done"}', '{"1": "lost"}', '{"1": {"state": "lost"}}', "\xff"]
)
def test_a_damaged_file_counts_as_no_result(tmp_path: Path, damaged: str) -> None:
    (tmp_path / progress.FILE).write_text(damaged, "latin-1")
    assert progress.read_progress(tmp_path) == {}
    assert progress.keep_progress(tmp_path, json.dumps(RESULTS))
    assert progress.read_progress(tmp_path) == KEPT
