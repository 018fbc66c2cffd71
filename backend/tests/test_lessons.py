"""/lessons/: files that the lessons' own program writes, as this server and its caches serve them."""

import json
import re
from pathlib import Path

import pytest

from backend.tests.forked import SRC
from backend.tests.running_backend import Backend, PurgedCache, ask
from lessons.lesson import lessons

LESSONS = SRC.parent.parent / "lessons"
FIRST, SOLUTION = "/lessons/01-first-hit", "/lessons/01-first-hit/solution"


def report(school: Backend, **result: object) -> tuple[int, str, str]:
    """Send a result of the first lesson, as `make check` does."""
    return school.upstage("lessons", stdin=json.dumps([{"lesson": 1, **result}]))


@pytest.mark.parametrize("path", ["", "course", "cheat-sheet", "01-first-hit"])
def test_pages_are_cached_for_a_minute_with_a_tag(school: Backend, path: str) -> None:
    page = ask(school, f"/lessons/{path}")
    assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert page.headers["cache-control"] == "max-age=0, s-maxage=60"
    assert page.headers["x-cache-tags"] == "lessons"


def test_every_lesson_is_listed_and_old_addresses_lead_to_new_ones(school: Backend) -> None:
    listed = re.findall(r'<b><a href="(/lessons/[^"]+)">', ask(school, "/lessons/").text)
    assert sorted(listed) == [f"/lessons/{lesson.folder.name}" for lesson in lessons()]
    for url in listed:
        assert ask(school, url).status == 200, url
    for old, new in (
        ("", "/lessons/"),
        ("/10-one-copy-two-sizes", "/lessons/10-the-last-metre"),
        ("/11-a-line-kept-open", "/lessons/11-moved"),
    ):
        assert ask(school, f"/lessons{old}").headers["location"].endswith(new)
    assert 'url=/lessons/10-the-last-metre"' in ask(school, "/lessons/11-moved").text


def test_each_link_and_picture_of_the_course_is_there(school: Backend) -> None:
    page = ask(school, "/lessons/course").text
    links = set(re.findall(r'(?:href|src)="(/(?:lessons|style|image)/[^"#]+)', page))
    assert len(links) > 20
    for link in links:
        assert ask(school, link).status == 200, link
    [picture] = re.findall(r'<img src="([^"]+)"', ask(school, "/lessons/cheat-sheet").text)
    drawing = ask(school, f"/lessons/{picture}")
    assert (drawing.status, drawing.headers["content-type"]) == (200, "image/svg+xml")
    assert "sandbox" in drawing.headers["content-security-policy"]


@pytest.mark.parametrize(
    "path",
    ["99-nothing", "checking", "01-first-hit/check.py", "pictures/", "pictures/..%2fcourse.html", "a//b"],
)
def test_what_is_not_there(school: Backend, path: str) -> None:
    missing = ask(school, f"/lessons/{path}")
    assert (missing.status, missing.headers["cache-control"]) == (404, "no-store")
    assert "x-cache-tags" not in missing.headers


def test_without_the_folder_there_is_no_page_and_no_link(server: Backend) -> None:
    assert ask(server, "/lessons/").status == 404
    assert "/lessons/" not in ask(server, "/").text
    code, _, said = report(server, state="begun")
    assert (code, "no lessons here" in said) == (1, True)


def test_a_result_is_shown_and_kept_and_purges_the_pages(tmp_path: Path) -> None:
    cache = PurgedCache()
    school = Backend(tmp_path, UPSTAGE_LESSONS=str(LESSONS), UPSTAGE_PURGE=cache.address)
    assert "0 of " in ask(school, "/lessons/").text
    assert ask(school, SOLUTION).status == 404  # until the lesson is done
    assert report(school, state="done") == (0, "", "")
    assert cache.tags.count("lessons") == 1
    assert "1 of " in ask(school, "/lessons/").text
    assert "This lesson is done." in ask(school, FIRST).text
    assert ask(school, SOLUTION).status == 200

    for wrong in ({"state": "lost"}, {"state": "done", "word": "WORD"}):
        code, _, said = report(school, **wrong)
        assert (code, "not a list of results" in said) == (1, True)
    cache.close()
    code, _, said = report(school, state="begun")
    assert (code, "not purged yet" in said) == (1, True)  # the pages are right within a minute
    school.end()
    school = Backend(tmp_path, UPSTAGE_LESSONS=str(LESSONS))
    assert "This lesson has begun" in ask(school, FIRST).text
    school.end()
