"""/try/ on the running stack: what the page says of each request is what the servers have logged."""

from string import ascii_lowercase, digits
from urllib.parse import parse_qsl

import pytest
from playwright.sync_api import Page, expect

from logs.explaining import by_varnish
from logs.serverlogs import nginx_lines
from logs.varnishlog import requests
from tests.browsing import PICTURES, Visit, unreadable
from tests.stack import Stack
from tests.support.wait import wait_until

# What is typed into the page: the origin's fields, and each request: the seconds before it and its kind.
# What is expected: how Varnish answered each, or "browser" if it was not asked; the origin's requests.
SCENARIOS = {
    "kept": ("control=s-maxage%3D60", "get 2get", "miss hit", 1),
    "expired": ("control=s-maxage%3D2", "get 4get 1get", "miss stale hit", 2),
    "browser": ("control=max-age%3D60", "get 2get", "miss browser", 1),
    "private": ("control=private", "get 2get", "miss hit-for-miss", 2),
    "set-cookie": ("control=s-maxage%3D60&cookie=1", "get 2get", "miss hit-for-miss", 2),
    "cookie": ("control=s-maxage%3D60", "get 2cookie", "miss pass", 2),
    "two": ("control=s-maxage%3D60&delay=500", "pair 2get", "miss hit hit", 1),
    "vary": ("control=s-maxage%3D60&vary=Accept-Language", "get 2language 2language", "miss miss hit", 2),
    "fails": ("control=s-maxage%3D1&fail=2", "get 3get 2get", "miss stale stale", 3),
    "not found": ("status=404", "get 2get", "miss miss", 2),
}


def type_scenario(page: Page, fields: str, asked: list[str]) -> None:
    """Type a scenario into the page, as a reader does."""
    for name, value in parse_qsl(fields):
        field = page.locator(f"#scenario [name={name}]")
        if field.get_attribute("type") == "checkbox":
            field.check()
        elif field.evaluate("field => field.tagName") == "SELECT":
            field.select_option(value)
        else:
            field.fill(value)
    rows = page.locator("#requests li")
    while rows.count() < len(asked):
        page.get_by_role("button", name="Add a request").click()
    for row, one in zip(rows.all(), asked, strict=True):
        row.locator(".pause").fill(one.rstrip(ascii_lowercase) or "0")
        row.locator(".kind").select_option(one.lstrip(digits))


@pytest.mark.parametrize("stack", ["containers"], indirect=True, scope="session")
@pytest.mark.parametrize("name", SCENARIOS)
def test_the_lanes_are_what_the_servers_have_logged(stack: Stack, visit: Visit, name: str) -> None:
    page, (fields, asked, expected, fetched) = visit("/try/"), SCENARIOS[name]
    outcomes = expected.split()
    type_scenario(page, fields, asked.split())
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("status")).to_contain_text("; the origin got", timeout=30_000)
    rows = page.locator("#lanes tr").all()
    own = page.locator("#lanes tr[data-outcome=browser]").all()
    shown = {row.locator("th small").last.inner_text(): row for row in rows[: len(rows) - len(own)]}
    page.screenshot(path=PICTURES / f"try-{name}.png", full_page=True)
    assert unreadable(page) == []
    said = [row.get_attribute("data-outcome") for row in rows]
    assert said == outcomes or ("pair" in asked and sorted(map(str, said)) == sorted(outcomes))
    assert f"the origin got {fetched}." in page.get_by_role("status").inner_text()

    ids = list(shown)
    assert len(ids) == len(outcomes) - outcomes.count("browser")
    wait_until(lambda: all(id in stack.log_of("nginx") for id in ids))
    lines = {line.id: line for line in nginx_lines(stack.log_of("nginx").splitlines())}
    query = "ReqHeader:X-Request-Id ~ '" + "|".join(ids) + "'"
    log = stack.inside("varnishlog", "-d", "-g", "request", "-q", query)
    logged = {seen.id: seen for seen in requests(log.splitlines())}
    for id in ids:
        cell = shown[id].locator("[data-station=varnish]").inner_text()
        outcome = shown[id].get_attribute("data-outcome")
        assert logged[id].outcome == outcome
        assert lines[id].answered.partition(":")[2] == outcome
        for reason in by_varnish(logged[id]):
            assert reason.partition("; fetched in the")[0].partition("; the backend f")[0] in cell
