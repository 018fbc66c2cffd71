"""Compare and Capacity in real Locust processes, alone and with workers, and the picture in a browser."""

import csv
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Page, expect

from fake_site import ASSETS, FakeSite
from locust_library import LOADTEST
from support.origin import response
from support.ports import free_ports
from test_processes import environment, page, press, started

__all__ = ["page"]  # a fixture

METRICS = (
    'upstage_http_request_seconds_count{path="media"} 5\nprocess_cpu_seconds_total 1\nupstage_clients 3\n'
)


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "locust", "--headless", "--only-summary", "--warm-up=1", *arguments]


@pytest.fixture
def warm(site: FakeSite) -> FakeSite:
    """A site that has run for a while, whose topology `nginx` has no cache, with a backend."""
    site.cached.update(ASSETS)
    site.instead["/.nginx/backend"] = response(METRICS)
    return site


@pytest.mark.slow  # test_compare.py measures topologies without a process, test_processes.py has workers
@pytest.mark.parametrize("processes", [1, 2], ids=["alone", "with workers"])
def test_a_comparison_from_the_command_line(warm: FakeSite, tmp_path: Path, processes: int) -> None:
    options = ("--shape=Compare", "--topologies=nginx,default", "--seconds=2", "-u6", "-r6", "Reader")
    done = subprocess.run(
        command(*options, *(["--processes=2"] if processes > 1 else [])),
        cwd=LOADTEST,
        env=environment(warm, LOADTEST_REPORTS=str(tmp_path)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "Traceback" not in done.stdout
    assert re.search(r"^ +nginx +6 ", done.stdout, re.MULTILINE)
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["answered"] is True
    assert report["classes"] == ["Reader"]
    first, second = report["measurements"]
    assert (first["host"], second["host"]) == ("nginx.localhost", "upstage.localhost")
    for one in (first, second):
        counted = sum(row["num_requests"] for row in one["rows"])
        assert counted == sum(line["answers"] for line in one["caches"] if line["tier"] == "client") > 0
        assert one["backend_requests_per_second"] == 0.0
        # The others came while the users left: at most five a second from each.
        asked = sum(
            request.headers["host"] == one["host"] and request.target != "/.nginx/backend"
            for request in warm.requests
        )
        assert 0 <= asked - counted - one["warm_up_samples"] <= 60
    assert [line["topology"] for line in csv.DictReader((tmp_path / "compare.csv").open())] == [
        "nginx",
        "default",
    ]
    assert ElementTree.parse(tmp_path / "compare.svg").getroot().tag.endswith("svg")
    page = (tmp_path / "report.html").read_text()
    assert "<h1>Compare</h1>" in page
    assert "not in this run" in page


@pytest.mark.parametrize(
    ("most", "code", "answer"),
    [
        # test_capacity.py proves this one without a process.
        pytest.param(9000, 0, "default carries at least 2 visitors.", marks=pytest.mark.slow),
        (1, 1, "default carries fewer than 1 visitors. At 1: p95 of GET /"),
    ],
)
def test_the_capacity_and_the_line_that_failed(
    warm: FakeSite, tmp_path: Path, most: int, code: int, answer: str
) -> None:
    warm.latency = 0.01
    file = tmp_path / "thresholds.toml"
    file.write_text(f'[p95_ms]\n"GET /*" = {most}\n[generator]\ncpu_percent = 1000\nlate_ms = 9000\n')
    done = subprocess.run(
        command("--shape=Capacity", "--seconds=1", "-u2", "-r6", f"--thresholds={file}", "Reader"),
        cwd=LOADTEST,
        env=environment(warm, LOADTEST_REPORTS=str(tmp_path)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == code, done.stdout
    assert done.stdout.rstrip().splitlines()[-1].startswith(answer)
    assert json.loads((tmp_path / "report.json").read_text())["outcome"].startswith(answer)
    assert answer.partition("/")[0] in (tmp_path / "report.html").read_text()


@pytest.mark.long
def test_the_page_describes_the_form_and_draws_the_comparison(warm: FakeSite, page: Page) -> None:
    [port] = free_ports(1)
    faults: list[Any] = []
    page.on("pageerror", lambda error: faults.append(error))
    with started(warm, LOCUST_WEB_PORT=str(port), LOADTEST_SECONDS="2", LOADTEST_WARM_UP="1"):
        page.goto(f"http://127.0.0.1:{port}/")
        expect(page.get_by_text("A stalled client: joins, keeps requesting data")).to_be_attached()
        expect(page.get_by_text("The number of users below, until the run is stopped")).to_be_visible()
        page.locator("select[name=shapeClass]").select_option("Compare")
        expect(page.get_by_text("The same users on one topology after another")).to_be_visible()
        page.locator("input[name=userCount]").fill("")
        page.get_by_text("Custom parameters").click()
        page.locator("input[name=topologies]").fill("nowhere")
        press(page, "start")
        expect(page.get_by_text("unknown topology 'nowhere'")).to_be_visible()
        page.locator("input[name=topologies]").fill("nginx")
        press(page, "start")
        page.get_by_role("tab", name="Compare").click()
        expect(page.locator("figure svg")).to_be_visible(timeout=60_000)
        expect(page.locator("tr", has_text="nginx")).to_contain_text("20", timeout=60_000)
        page.get_by_role("tab", name="Statistics").click()
        expect(page.locator("figure svg")).to_have_count(0)
    assert faults == []
