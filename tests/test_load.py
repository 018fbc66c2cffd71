"""Locust in the house: the judge of `make load`, and its web page driven by a real browser."""

import json
import re
import time

import pytest
from playwright.sync_api import Browser, Page, expect

from browsing import PICTURES
from house import REPO, House, eventually

ROWS = ("GET /stages/demo", "stage join", "stage chat", "stage heard", "ws join", "ws heard", "policy policy")


def test_a_healthy_house_passes(house: House) -> None:
    reports = REPO / ".run" / house.project / "load"
    # As if there had been a run before; the globs below must not find it.
    reports.mkdir(exist_ok=True)
    (reports / "before.html").touch()
    if house.mode == "containers":
        before = "mkdir -p /tmp/reports; touch /tmp/reports/before.json"
        house.compose("exec", "-T", "locust", "sh", "-c", before)
    verdict = house.make("load")
    assert "GOOD" in verdict, verdict
    assert f"The report: .run/{house.project}/load\n" in verdict
    [figures] = reports.glob("*.json")
    [page] = reports.glob("*.html")
    assert json.loads(figures.read_text())
    assert page.stat().st_size > 10_000
    for row in ROWS:
        assert row.split()[1] in page.read_text(), row


def test_without_a_backend_it_fails_and_says_why(house: House) -> None:
    house.control("stop", "backend")
    try:
        with pytest.raises(AssertionError, match="ended with") as refusal:
            house.make("load")
        verdict = str(refusal.value)
        assert "FAILED" in verdict
        assert re.search("stage join.*too few|samples of stage join", verdict), verdict
    finally:
        house.control("start", "backend")
        eventually(lambda: house.get("/admin/id").status_code == 200, within=60)


@pytest.mark.parametrize("house", ["containers"], indirect=True, scope="session")
def test_without_a_cache_it_fails_and_says_why(house: House) -> None:
    options = "--headless -u 6 -r 6 -t 20s --thresholds thresholds.toml --topology nginx.localhost"
    with pytest.raises(AssertionError, match="ended with") as refusal:
        house.compose("exec", "-T", "locust", "locust", *options.split(), "Audience")
    assert re.search(r"FAILED +hits of /media/\*.*none \d", str(refusal.value)), refusal.value


def rows(page: Page) -> dict[str, int]:
    """The rows of Locust's table of requests, and how many requests each has."""
    found = {}
    for line in page.locator("table tbody tr").all():
        cells = line.locator("td").all_inner_texts()
        if len(cells) > 2 and cells[2].replace(",", "").isdigit():
            found[f"{cells[0]} {cells[1]}"] = int(cells[2].replace(",", ""))
    return found


def test_the_page_fills_the_house_and_shows_what_the_caches_did(house: House, browser: Browser) -> None:
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(f"http://127.0.0.1:{house.ports['LOCUST_PORT']}/")
    page.get_by_text("Custom parameters").click()
    page.locator("input[name=maxHeardMs]").fill("400")
    page.screenshot(path=PICTURES / f"locust-form-{house.mode}.png", full_page=True)
    page.get_by_role("button", name=re.compile("start", re.I)).click()
    expect(page.get_by_text("RUNNING")).to_be_visible()

    def all_doors() -> bool:
        return {row.split()[0] for row, count in rows(page).items() if count} >= {
            "GET",
            "stage",
            "ws",
            "policy",
        }

    eventually(all_doors, within=60)
    page.screenshot(path=PICTURES / f"locust-rows-{house.mode}.png", full_page=True)
    page.get_by_role("tab", name="Caches").click()
    media = page.locator("tr", has_text="/media/*.svg").first
    expect(media).to_be_visible()
    time.sleep(3)
    page.screenshot(path=PICTURES / f"locust-caches-{house.mode}.png", full_page=True)
    page.get_by_role("tab", name="Verdict").click()
    heard = page.locator("tr", has_text="p95 of * heard")
    expect(heard).to_contain_text("at most 400 ms")
    page.get_by_role("button", name=re.compile("stop", re.I)).click()
    expect(page.get_by_text(re.compile("STOPP", re.I)).first).to_be_visible(timeout=60_000)
    # What was said last stays.
    expect(page.locator("tr", has_text="the run")).to_contain_text(re.compile("GOOD|FAILED|NOT MEASURED"))
    expect(heard).to_contain_text("at most 400 ms")
    page.screenshot(path=PICTURES / f"locust-verdict-{house.mode}.png", full_page=True)
    assert complaints == []
    page.context.close()


@pytest.mark.parametrize("house", ["containers"], indirect=True, scope="session")
def test_four_workers_are_one_run(house: House) -> None:
    knobs = {
        "LOADTEST_WORKERS": "4",
        "COMPOSE_PROFILES": house.knobs["COMPOSE_PROFILES"] + ",workers",
        "HEALTH_INTERVAL": "1s",  # the workers start when the master is healthy
    }
    before = dict(house.knobs)
    house.knobs |= knobs
    try:
        house.compose(
            "up", "-d", "--wait", "--no-deps", "--scale", "locust-worker=4", "locust", "locust-worker"
        )
        said = eventually(
            lambda: re.search(r"4 workers|\(4 connected", house.compose("logs", "locust")), within=60
        )
        assert said
    finally:
        house.compose("rm", "--stop", "--force", "locust-worker")
        house.knobs.clear()
        house.knobs |= before
        house.compose("up", "-d", "--wait", "--no-deps", "locust")
