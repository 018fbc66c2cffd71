"""The pages of the lessons, as they are written."""

import fcntl
import json
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from lessons.lesson import PORTS, lessons
from lessons.pages.__main__ import main
from lessons.pages.html import to_html
from lessons.pages.results import LIMIT, NOTHING, ResultsError, read_results
from lessons.pages.site import pages
from tests.stack import REPO

STACK = {"HTTP_PORT": "9080", "HTTPS_PORT": "9443", "LOCUST_PORT": "9089", "OBSERVE_PORT": "9099"}
WORD = "k1a2b3c4d"
FIRST, SOLUTION = "01-first-hit", "01-first-hit/solution"
DONE = {"state": "done", "word": WORD}
ASKED = {
    "state": "begun",
    "word": WORD,
    "said": "One question is left.",
    "choices": list("wxyz"),
}


def test_every_lesson_has_a_page_with_its_sections() -> None:
    written = pages({}, PORTS)
    for lesson in lessons():
        page = written[lesson.folder.name]
        headings = re.findall(r"^## (.*)$", lesson.page, re.M)
        assert re.findall(r"<h2[^>]*>(.*?)</h2>", page) == ["Where you are", *headings]
        assert page.count("<h1") == 1
        assert "<button" not in page  # lesson.js adds them: without scripts they would do nothing
        assert "<details><summary>Hint</summary>" in page
    assert not any(
        "style=" in page for name, page in written.items() if name != "cheat-sheet"
    )  # see PAGE_CSP


def test_commands_have_the_ports_of_this_stack() -> None:
    written = pages({}, STACK)
    for name in (FIRST, "cheat-sheet"):
        assert "http://localhost:9080/" in written[name]
        assert "localhost:8080" not in written[name]


def test_the_optional_lessons_come_after_the_others() -> None:
    first, _, optional = pages({}, PORTS)["index"].partition('<h2 id="optional">')
    assert [text.count('class="goal"') for text in (first, optional)] == [
        sum(lesson.optional == which for lesson in lessons()) for which in (False, True)
    ]


@pytest.mark.parametrize(
    ("block", "offered"),
    [("    make up\n", True), ("```sh\nmake up\n```\n", True), ("```vcl\nsub a { }\n```\n", False)],
)
def test_a_block_scrolls_by_keyboard_and_can_be_copied_if_it_is_commands(block: str, offered: bool) -> None:
    begin = '<pre tabindex="0" data-copy="">' if offered else '<pre tabindex="0">'
    assert begin in to_html(block, "lessons/03-a")


def test_a_link_leads_to_a_page_of_the_site_or_is_text() -> None:
    ours = "[one](../01-first-hit/README.md) [two](../02-b) [`file`](../../loadtest/README.md) "
    body = to_html(
        ours + "[course](../../docs/course.md#glossary) [web](https://example.org/)", "lessons/03-a"
    )
    assert body == (
        '<p><a href="/lessons/01-first-hit">one</a> <a href="/lessons/02-b">two</a> <code>file</code> '
        '<a href="/lessons/course#glossary">course</a> <a href="https://example.org/">web</a></p>\n'
    )


def marked(word: str) -> str:
    return f'fox.svg?<mark class="word">{word}</mark>'


# By name: the page, its lesson's result, texts that the page contains then, and texts that it does not.
STATES: dict[str, tuple[str, dict[str, Any], list[str], list[str]]] = {
    "not begun": (FIRST, {}, ["make lesson LESSON=1<", "make learn LESSON=1<", marked("WORD")], [SOLUTION]),
    "begun": (FIRST, {"state": "begun", "word": WORD}, [marked(WORD), "make check LESSON=1<"], ["WORD"]),
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
    "done": (FIRST, DONE, [SOLUTION, "/lessons/02-how-long-is-fresh"], []),
    "open solution": (SOLUTION, DONE, ["1. First hit: solution</h1>", marked(WORD)], []),
}


@pytest.mark.parametrize(("page", "result", "said", "unsaid"), STATES.values(), ids=STATES)
def test_a_page_says_how_far_the_learner_is(
    page: str, result: dict[str, Any], said: list[str], unsaid: list[str]
) -> None:
    written = pages(read_results(json.dumps([{"lesson": 1, **result}])), PORTS)
    assert (SOLUTION in written) == (result.get("state") == "done")
    assert [text for text in said if text not in written[page]] == []
    assert [text for text in unsaid if text in written[page]] == []


def test_results_are_kept_and_old_pages_are_removed(tmp_path: Path) -> None:
    main(tmp_path, json.dumps([{"lesson": 1, **DONE}]))
    main(tmp_path, "")
    site = tmp_path / "lessons"
    assert "1 of " in (site / "index.html").read_text()
    assert {"lesson.js", "lessons.css", "pictures", FIRST} <= {path.name for path in site.iterdir()}
    main(tmp_path, json.dumps([{"lesson": 1}]))
    assert not (site / f"{SOLUTION}.html").exists()
    (tmp_path / "lessons.json").write_text(json.dumps({"1": DONE}))  # as an earlier release has kept them
    main(tmp_path, "")
    assert "1 of " in (site / "index.html").read_text()
    (tmp_path / "lessons.json").write_text("\0")
    main(tmp_path, "")
    assert "0 of " in (site / "index.html").read_text()
    assert {path.name for path in tmp_path.iterdir()} == {"lessons", "lessons.json", "lessons.lock"}


def test_writers_take_turns(tmp_path: Path) -> None:
    """A writer that finds another at work waits, and reads what that one has kept."""
    command = [sys.executable, "-m", "lessons.pages", str(tmp_path)]
    with (tmp_path / "lessons.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        writer = subprocess.Popen(command, cwd=REPO, stdin=subprocess.DEVNULL)
        with suppress(subprocess.TimeoutExpired):
            writer.wait(timeout=2)
        assert not (tmp_path / "lessons").exists()
        (tmp_path / "lessons.json").write_text(json.dumps([{"lesson": 1, **DONE}]))
    assert writer.wait(timeout=60) == 0
    assert WORD in (tmp_path / "lessons.json").read_text()


def test_missing_texts_are_empty() -> None:
    assert read_results('[{"lesson": 1, "word": null}]') == {1: {"lesson": 1, **NOTHING}}


@pytest.mark.parametrize(
    "told",
    [
        *("no JSON", "{}x", "3", "[[]]", "null", "[{}]", "[]" + " " * LIMIT),
        *(
            json.dumps([{"lesson": 1, **wrong}])
            for wrong in (
                {"state": "lost"},
                {"state": ["done"]},
                {"word": "k1a2b3c4"},
                {"word": WORD + "\n"},
                {"word": 7},
                {"said": 7},
                {"choices": [1, 2, 3, 4]},
                {"choices": ["one"]},
                {"choices": 4},
            )
        ),
    ],
    ids=lambda told: told[:30],
)
def test_what_is_no_result_is_refused(told: str) -> None:
    with pytest.raises(ResultsError):
        read_results(told)
