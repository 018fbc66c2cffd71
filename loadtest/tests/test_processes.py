"""Locust in separate processes: workers, the examples, the container's scripts, the web UI in a browser."""

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests
from playwright.sync_api import Browser, Page, expect

from loadtest.tests.fake_site import ASSETS, FakeSite
from loadtest.tests.fake_site import Page as File
from loadtest.tests.locust_library import LOADTEST
from tests.support.checks import check, ran
from tests.support.origin import EchoServer, Origin, response
from tests.support.ports import free_ports
from tests.support.wait import wait_until

STOP_WHEN = Path(__file__).with_name("stop_when.py")


def environment(site: FakeSite, **variables: str) -> dict[str, str]:
    """Return the variables of a Locust whose target is the site; its workers, if any, use a separate port."""
    [master_port] = map(str, free_ports(1))
    return {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "LOCUST_HOST": site.url,
        "LOADTEST_STAGE": "demo",
        "LOADTEST_STAGE_PORT": str(site.stage.socket.port),
        "LOADTEST_POLICY_PORT": str(site.stage.policy_socket.port),
        "LOADTEST_PROXY_PORT": str(site.port),
        **dict.fromkeys(("LOCUST_WEB_HOST", "LOCUST_MASTER_BIND_HOST"), "127.0.0.1"),
        **dict.fromkeys(("LOCUST_MASTER_BIND_PORT", "LOCUST_MASTER_NODE_PORT"), master_port),
        **variables,
    }


def headless(given: dict[str, str], file: str, *arguments: str, until: dict[str, int]) -> str:
    """Run Locust without its web UI until each of those rows has that many samples; return its output."""
    command = [sys.executable, "-m", "locust", "--headless", "-t90s", "--only-summary"]
    command += ["-f", f"{file},{STOP_WHEN}", *arguments]
    output = check(*command, cwd=LOADTEST, env=given | {"UNTIL": json.dumps(until)}, timeout=300)
    assert "Traceback" not in output
    return output


SHOPPER = """
from locust import HttpUser, constant, task

class Shopper(HttpUser):
    host = "{}"
    wait_time = constant(0.05)

    @task
    def look(self):
        self.client.get("/shelf")

class Plain(HttpUser):
    wait_time = constant(0.05)

    @task
    def look(self):
        self.client.get("/stages/demo")
"""


def test_a_class_with_a_host_of_its_own_asks_that_one(site: FakeSite, tmp_path: Path) -> None:
    """The other host's log shows the requests; this holds with workers, too."""
    shop = Origin("shop")
    (tmp_path / "shopper.py").write_text(SHOPPER.format(f"http://{shop.address}"))
    file = f"locustfile.py,{tmp_path / 'shopper.py'}"
    arguments = ("-u4", "-r4", "--processes=2", "Shopper", "Plain")
    headless(environment(site), file, *arguments, until={"/shelf": 9, "/stages/demo": 9})
    shop.close()
    assert {request.target for request in shop.requests} == {"/shelf"}
    assert not site.asked["/shelf"]


ENOUGH = {"/stages/demo": 6, "/media/*.svg": 12, "stage join": 6, "stage chat": 60, "stage heard": 60}
# Lines that a run of the class Audience alone can meet, even on a busy machine.
THRESHOLDS = """
[samples]
"GET /stages/*" = 6
"stage heard" = 60
[error_ratio]
"*" = 0
[hit_ratio]
"/media/*" = 0.6
[generator]
cpu_percent = 1000
late_ms = 9000
"""


@pytest.mark.long
def test_a_judged_run_of_a_healthy_site_with_workers(site: FakeSite, tmp_path: Path) -> None:
    site.cached.update(ASSETS)  # as on a server that has run for a while
    site.instead["/.nginx/backend"] = response("process_cpu_seconds_total 1\nupstage_clients 3\n")
    (tmp_path / "thresholds.toml").write_text(THRESHOLDS)
    arguments = ("-u6", "-r6", "--audience=stays", "--chat-rate=240", "--processes=2", "Audience")
    file = f"--thresholds={tmp_path / 'thresholds.toml'}"
    given = environment(site, PYTHONPATH=str(LOADTEST), LOADTEST_REPORTS=str(tmp_path / "reports"))
    output = headless(given, "locustfile.py", file, *arguments, until=ENOUGH)
    assert output.count("\nVerdict\n") == 1  # workers do not judge
    assert output.rstrip().endswith("GOOD: all 6 lines hold.")
    report = json.loads((tmp_path / "reports" / "report.json").read_text())
    assert report["backend"]["clients"] == 3
    rows = {(row["method"], row["name"]): row["num_requests"] for row in report["rows"]}
    # Every response was counted once, in whichever process it came.
    counted = {line["row"]: 0 for line in report["caches"]}
    for line in report["caches"]:
        counted[line["row"]] += line["answers"] * (line["tier"] == "client")
    assert counted == {name: count for (method, name), count in rows.items() if method == "GET"}
    # Users measure only lines of their own process: each line is heard by at most two others.
    sent = len(site.stage.lines)
    assert sent < rows["stage", "heard"] <= 2 * sent


README = LOADTEST / "README.md"
EXAMPLES = sorted((LOADTEST / "examples").glob("*.py"))


@pytest.mark.long
def test_every_example_runs_by_itself_as_make_load_starts_it(site: FakeSite, tmp_path: Path) -> None:
    for name in ("fox", "diva", "captain"):
        site.pages[f"/media/{name}.svg"] = File(b"<svg/>", {"cache-status": site.hit})
    (tmp_path / "account").write_text(f"ann:{site.password}\n")
    account = str(tmp_path / "account")
    # The ports are drawn before the threads start, which cannot draw any.
    given = {each: environment(site, LOADTEST_ACCOUNT_FILE=account) for each in EXAMPLES}

    def run(example: Path) -> str:
        workers = ["--processes=2"] if "workers" in example.name else []
        file = tmp_path / example.name  # one example fails if responses are slow, as beside so many others
        file.write_text(re.sub("(?m)^SLOWEST = 500 ", "SLOWEST = 60_000 ", example.read_text()))
        return headless(given[example], str(file), "-u4", "-r4", *workers, until={"Aggregated": 8})

    with ThreadPoolExecutor(len(EXAMPLES)) as side_by_side:
        for output in side_by_side.map(run, EXAMPLES):
            assert re.search(r"Aggregated +[1-9]\d* +0\(", output), output  # no failure among them


def test_the_course_has_a_row_for_each_example() -> None:
    rows = re.findall(r"^\| \[`(\d\d)`\]\(examples/(\d\d)(\w+\.py)\)", README.read_text(), re.M)
    assert [f"{number}{rest}" for number, _, rest in rows] == [example.name for example in EXAMPLES]


def test_workers_share_the_crawl_and_its_addresses(site: FakeSite) -> None:
    crawl = ("-u1", "--processes=2", "--crawl=40", "--crawl-addresses=4", "Crawler")
    headless(environment(site, PYTHONPATH=str(LOADTEST)), "locustfile.py", *crawl, until={"/": 20})
    assert {line.split()[2] for line in site.said} == {f"198.18.0.{last}" for last in (1, 2, 3, 4)}


def health(given: dict[str, str]) -> str:
    """Return the health check's message; an empty string if it succeeds."""
    done = ran("bash", LOADTEST / "health.sh", env=given)
    assert bool(done.returncode) == bool(done.stdout), done
    return done.stdout.strip()


@contextmanager
def started(site: FakeSite, **variables: str) -> Iterator[None]:
    """Run Locust as its container starts it; wait until it is healthy."""
    given = environment(site, **variables)
    with subprocess.Popen(["sh", str(LOADTEST / "start.sh")], env=given) as locust:

        def ready() -> bool:
            assert locust.poll() is None, "Locust has ended"
            return not health(given)

        try:
            wait_until(ready, within=60, every=0.5)  # the check is a separate process
            yield
        finally:
            locust.terminate()


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=re.compile(name, re.I)).click()


@pytest.mark.long
def test_the_form_starts_a_shape_at_the_first_click(site: FakeSite, browser: Browser) -> None:
    page = browser.new_page()
    [port] = free_ports(1)
    address = f"http://127.0.0.1:{port}/"

    def state() -> dict[str, Any]:
        return dict(requests.get(f"{address}stats/requests", timeout=60).json())

    def choose(shape: str) -> None:
        """Choose a shape; the form must show the number of users, and let it be changed."""
        page.locator("select[name=shapeClass]").select_option(shape)
        for field, offered in (("userCount", "20"), ("spawnRate", "4")):
            expect(page.locator(f"input[name={field}]")).to_be_enabled()
            expect(page.locator(f"input[name={field}]")).to_have_value(offered)

    with started(site, LOCUST_WEB_PORT=str(port), LOADTEST_SECONDS="2", LOADTEST_WARM_UP="1"):
        page.goto(address)
        expect(page.get_by_text("A stalled client: joins, keeps requesting data")).to_be_attached()
        choose("Compare")
        expect(page.get_by_text("The same users on one topology after another")).to_be_visible()
        page.get_by_text("Custom parameters").click()
        for topologies in ("nowhere", "nginx"):
            page.locator("input[name=topologies]").fill(topologies)
            press(page, "start")
            if topologies == "nowhere":
                expect(page.get_by_text("unknown topology 'nowhere'")).to_be_visible()
        page.get_by_role("tab", name="Compare").click()
        expect(page.locator("figure svg")).to_be_visible(timeout=60_000)
        page.get_by_role("tab", name="Statistics").click()
        expect(page.locator("figure svg")).to_have_count(0)
        page.reload()
        wait_until(lambda: state()["state"] == "stopped", within=60)
        press(page, "new")
        choose("Slashdot")
        # A run time is in a closed section: the page says it below Start.
        page.get_by_text("Advanced options").click()
        for text, said in (("8", "Ends after 8 s"), ("2m", "Ends after 2m"), ("", "")):
            page.locator("input[name=runTime]").fill(text)
            expect(page.locator("form > div .proscenium-note").last).to_have_text(re.compile(f"^{said}"))


@pytest.mark.parametrize(
    ("settings", "role"),
    [
        ({}, ""),
        ({"LOADTEST_PROCESSES": "2"}, "--processes 2"),
        ({"LOADTEST_MASTER": "m", "LOADTEST_PROCESSES": "2"}, "--processes 2 --worker --master-host m"),
        # The workers of a master are elsewhere.
        ({"LOADTEST_WORKERS": "3", "LOADTEST_PROCESSES": "2"}, "--master --expect-workers 3"),
    ],
)
def test_a_container_starts_locust_in_its_role(tmp_path: Path, settings: dict[str, str], role: str) -> None:
    locust = tmp_path / "locust"
    locust.write_text('#!/bin/sh\necho "${PWD##*/}" "$@"\n')
    locust.chmod(0o755)
    given = {"PATH": f"{tmp_path}:{os.environ['PATH']}", **settings}
    done = ran("sh", LOADTEST / "start.sh", "--more", env=given, check=True)
    assert done.stdout == " ".join(["loadtest", *role.split(), "--more\n"])


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (response(status="302 FOUND"), ""),  # a redirect to the login
        (response(status="500 INTERNAL SERVER ERROR"), "web UI answers with an error: 500"),
        (b"", "web UI answers with an error: nothing"),
        (None, "web UI does not answer"),
    ],
    ids=["redirect", "error", "nothing", "no listener"],
)
def test_a_web_ui_is_judged_by_its_status(sent: bytes | None, said: str) -> None:
    web_ui = Origin("web UI")
    web_ui.respond = lambda _: sent or b""
    if sent is None:
        web_ui.close()
    assert health({**os.environ, "LOCUST_WEB_PORT": str(web_ui.port)}) == said
    web_ui.close()


def test_a_worker_is_healthy_while_it_is_connected_to_its_master() -> None:
    master = EchoServer("master")
    at_worker = {"LOADTEST_MASTER": "127.0.0.1", "LOCUST_MASTER_NODE_PORT": str(master.port)}
    assert health({**os.environ, **at_worker}) == "no connection to the master"
    with socket.create_connection(("127.0.0.1", master.port)):
        assert health({**os.environ, **at_worker}) == ""
    master.close()
