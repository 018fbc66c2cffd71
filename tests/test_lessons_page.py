"""The lessons' pages, and the servers' time with a cold and a warm cache, on the running stack."""

import re

import pytest
from playwright.sync_api import expect

from lessons.learners.printed import in_section, solution
from lessons.learners.school import Learner
from lessons.lesson import lessons
from tests.browsing import PICTURES, Visit, on_stage
from tests.stack import REPO, Stack
from tests.support.wait import wait_until

LESSONS = sorted(path.parent.name for path in REPO.glob("lessons/[0-9]*/README.md"))


@pytest.mark.parametrize("stack", ["containers"], indirect=True, scope="session")
def test_the_first_lesson_can_be_done(stack: Stack) -> None:
    """One lesson is enough here; lessons/learners tests each check and its refusals."""
    learner = Learner(stack)
    learner.begin(1)
    # The page is in a cache, so it must be purged.
    wait_until(lambda: '<li data-state="begun">' in stack.get("/lessons/").text)
    learner.follow([*solution(1), *in_section(lessons()[0], "Look")])
    learner.right()


def test_a_learner_finds_the_lessons_and_the_pages_to_try(stack: Stack, visit: Visit) -> None:
    page = visit("/")
    page.get_by_role("navigation").get_by_role("link", name="Lessons").click()
    links = [link.get_attribute("href") or "" for link in page.locator("main a").all()]
    course = ["/lessons/course", "/lessons/course#glossary", "/lessons/cheat-sheet"]
    lessons = [f"/lessons/{name}" for name in LESSONS]
    assert links == ["/", *course, *lessons]
    assert all(stack.get(link).status_code == 200 for link in links)
    front = [link.get_attribute("href") or "" for link in visit("/").locator("main a").all()]
    assert {"/lessons/", "/try/", "/slow", "/playbill", "/welcome"} <= set(front)


def test_house_lights_shows_the_servers_time_cold_against_warm(
    stack: Stack, visit: Visit, complaints: list[str]
) -> None:
    """Three responses of a page that takes 300 ms: UpStage's, then copies that take next to nothing."""
    page = on_stage(visit("/stages/demo"))
    page.locator("#served-switch").click()
    page.locator("#served-panel [data-cold]").click()
    rows = page.locator("#served-cold li")
    expect(rows).to_have_count(3)
    servers = [row.get_attribute("data-station") for row in rows.all()]
    times = [int(re.sub(r"\D", "", row.locator("span").inner_text())) for row in rows.all()]
    assert servers[0] == "upstage"
    assert set(servers[1:]) <= {"varnish", "nginx"}
    assert times[0] >= 300
    assert max(times[1:]) < times[0] / 2  # 0 or 1 ms on a machine that does nothing else
    expect(page.locator("#served-summary")).to_contain_text(
        re.compile(r"On average UpStage took .* ms, a copy")
    )
    slow = page.locator("#served-rows tr", has_text="/slow")
    expect(slow.locator(".by")).to_have_text(re.compile("Varnish|nginx"))
    page.screenshot(path=PICTURES / f"cold-and-warm-{stack.mode}.png")
    assert complaints == []


def test_without_a_cache_every_response_is_slow(stack: Stack, visit: Visit) -> None:
    page = visit("/")
    page.goto(stack.url("/", "nginx.localhost"))
    page.locator("[data-cold]").click()
    rows = page.locator("#cold-and-warm li")
    expect(rows).to_have_count(3)
    assert {row.get_attribute("data-station") for row in rows.all()} == {"upstage"}
    assert all(int(re.sub(r"\D", "", row.locator("span").inner_text())) >= 300 for row in rows.all())
