"""What we add to Locust's web UI, and how the container starts it: alone, as a master, as a worker."""

import csv
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, OpenerDirector, build_opener

import judge
from judge import FAILED, NOT_MEASURED, OK
from support.ports import free_ports
from test_locust import eventually
from tiny_front import Answer, Front

LOADTEST = Path(__file__).parents[1]
METRICS = b"upstage_http_request_seconds_count 5\nprocess_cpu_seconds_total 1\nupstage_clients 3\n"
LOGIN = {"LOCUST_WEB_USERNAME": "operator", "LOCUST_WEB_PASSWORD": "open sesame"}


def free_port() -> int:
    [port] = free_ports(1)
    return port


def environment(**knobs: str) -> dict[str, str]:
    others = ("LOCUST_", "LOADTEST_", "BIND_ADDR", "SERVER_NAMES")
    ours = {k: v for k, v in os.environ.items() if not k.startswith(others)}
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return (
        ours | {"PATH": path, "LOCUST_WEB_HOST": "127.0.0.1", "LOCUST_MASTER_BIND_HOST": "127.0.0.1"} | knobs
    )


def health(**knobs: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(LOADTEST / "health.py")]
    return subprocess.run(command, env=environment(**knobs), capture_output=True, text=True, check=False)


@contextmanager
def started(**knobs: str) -> Iterator[subprocess.Popen[bytes]]:
    """Locust as its container starts it, healthy."""
    with subprocess.Popen(["sh", str(LOADTEST / "start.sh")], env=environment(**knobs)) as locust:
        try:
            deadline = time.monotonic() + 120
            while (check := health(**knobs)).returncode != 0:
                assert locust.poll() is None, "Locust has ended"
                assert time.monotonic() < deadline, check.stderr
                time.sleep(0.2)
            yield locust
        finally:
            locust.terminate()


class Page:
    """A browser at the web UI, as far as a test needs one."""

    def __init__(self, port: int) -> None:
        self.address = f"http://127.0.0.1:{port}"
        self.browser: OpenerDirector = build_opener(HTTPCookieProcessor(CookieJar()))

    def ask(self, path: str, form: dict[str, str] | None = None) -> tuple[str, str]:
        """Where it led to, and what was there."""
        data = None if form is None else urlencode(form).encode()
        with self.browser.open(f"{self.address}{path}", data, timeout=60) as response:
            return response.url.removeprefix(self.address), str(response.read(), "utf-8")

    def arguments(self) -> dict[str, Any]:
        """What Locust's page is told to show."""
        _, index = self.ask("/")
        text = index.partition("window.templateArgs = ")[2].partition("\n")[0].rstrip("; ")
        return dict(json.loads(text))

    def start(self, **fields: str) -> None:
        form = {"user_count": "4", "spawn_rate": "4", "user_classes": "Reader", **fields}
        assert json.loads(self.ask("/swarm", form)[1])["success"] is True

    def table(self, key: str) -> list[dict[str, Any]]:
        """The table of one of our tabs."""
        tables = json.loads(self.ask("/stats/requests")[1])["extended_stats"]
        (data,) = (table["data"] for table in tables if table["key"] == key)
        return list(data)

    def rows(self) -> dict[str, dict[str, Any]]:
        """The table of the tab Caches."""
        return {row["name"].replace("\u00a0", " "): row for row in self.table("caches")}

    def verdict(self) -> dict[str, tuple[str, str, str]]:
        """The table of the tab Verdict: for each line the verdict, what was asked, and why."""
        return {row["what"]: (row["verdict"], row["allowed"], row["why"]) for row in self.table("verdict")}

    def answers(self) -> dict[str, int]:
        """By that table."""
        return {name: row["answers"] for name, row in self.rows().items() if name.startswith("/")}

    def requests(self) -> dict[str, int]:
        """By Locust's own."""
        stats = json.loads(self.ask("/stats/requests")[1])["stats"]
        return {row["name"]: row["num_requests"] for row in stats if row["method"] == "GET"}

    def wait_for(self, row: str, key: str, value: Any) -> dict[str, dict[str, Any]]:
        """The table once that cell is at least `value`, or the very text."""
        deadline = time.monotonic() + 60
        while True:
            rows = self.rows()
            cell = rows.get(row, {}).get(key)
            if cell == value or (isinstance(value, int) and cell and cell >= value):
                return rows
            assert time.monotonic() < deadline, rows
            time.sleep(0.3)


def test_the_tab_fills_and_can_be_downloaded(front: Front) -> None:
    front.answers["/.nginx/backend"] = Answer(body=METRICS)
    port = free_port()
    with started(LOCUST_HOST=front.address, LOCUST_WEB_PORT=str(port)):
        page = Page(port)
        shown = page.arguments()
        assert {"title": "Caches", "key": "caches"} in shown["extended_tabs"]
        (table,) = (table for table in shown["extended_tables"] if table["key"] == "caches")
        assert page.rows()["(all)"]["answers"] == 0
        assert page.rows()["(backend now)"]["backend"] == "no figures: no run yet"

        page.start()
        rows = page.wait_for("/media/*.svg", "answers", 4)
        assert {column["key"] for column in table["structure"]} == set(rows["(all)"])
        assert rows["/media/*.svg"]["varnish"].startswith("hit")
        page.wait_for("(backend now)", "backend", "0 requests/s, CPU 0 %, 3 clients")
        # Without its figures the rest goes on.
        del front.answers["/.nginx/backend"]
        page.wait_for("(backend now)", "backend", "no figures: status 404")
        page.wait_for("(all)", "answers", page.rows()["(all)"]["answers"] + 10)

        page.ask("/stop", {})
        (download,) = (file for file in shown["extended_csv_files"] if "caches" in file["href"])
        lines = list(csv.DictReader(page.ask(download["href"].removeprefix("."))[1].splitlines()))
        hits = sum(int(line["hit"]) for line in lines if line["tier"] == "house")
        assert hits == sum(int(line["hit"]) for line in lines if line["tier"] == "varnish") > 0
        # A new run counts from the beginning.
        before = page.rows()["(all)"]["answers"]
        page.start()
        assert page.rows()["(all)"]["answers"] < before
        page.ask("/stop", {})
        page.ask("/stats/reset", {})
        page.wait_for("(all)", "answers", 0)


def test_the_tab_tells_what_only_the_backend_knows(front: Front) -> None:
    def asked(web_sockets: int) -> bytes:
        return METRICS + b'upstage_http_request_seconds_count{path="websocket"} %d\n' % web_sockets

    backend = front.answers["/.nginx/backend"] = Answer(body=asked(3))
    port = free_port()
    with started(LOCUST_HOST=front.address, LOCUST_WEB_PORT=str(port)):
        page = Page(port)
        page.start()
        page.wait_for("/media/*.svg", "answers", 4)
        backend.body = asked(10)
        assert page.wait_for("/ws", "backend", "websocket\u00a07")["/ws"]["answers"] == 0
        page.ask("/stats/reset", {})
        assert "/ws" not in page.rows()
        # The last of it comes when the visitors have gone; until then the page goes on asking.
        backend.body = asked(12)
        page.ask("/stop", {})
        eventually(lambda: json.loads(page.ask("/stats/requests")[1])["state"] == "stopped")
        assert page.rows()["/ws"]["backend"] == "websocket\u00a02"
        assert "websocket" in page.ask("/caches/csv")[1]


def test_the_verdict_is_what_the_fields_ask_for(front: Front) -> None:
    port = free_port()
    with started(LOCUST_HOST=front.address, LOCUST_WEB_PORT=str(port), LOADTEST_MIN_HITS="0.7"):
        page = Page(port)
        shown = page.arguments()
        assert {"title": "Verdict", "key": "verdict"} in shown["extended_tabs"]
        file = judge.read(LOADTEST / "thresholds.toml")
        fields = {name: field["default_value"] for name, field in shown["extra_options"].items()}
        assert fields["max_heard_ms"] == file["p95_ms"]["* heard"]
        assert fields["max_page_ms"] == file["p95_ms"]["GET /stages/*"]
        assert fields["max_media_ms"] == file["p95_ms"]["GET /media/*"]
        assert fields["max_errors"] == file["error_ratio"]["*"]
        assert fields["min_hits"] == 0.7
        # Before a run nothing was measured, which is no failure.
        assert page.verdict()["the run"][0] == NOT_MEASURED

        page.start(max_media_ms="9000")
        eventually(lambda: page.verdict()["p95 of GET /media/*"] == (OK, "at most 9000 ms", ""))
        assert page.verdict()["p95 of * heard"] == (NOT_MEASURED, "at most 500 ms", "no such sample was made")
        page.ask("/stop", {})
        # What the form says holds for the next run.
        front.answers["/media/castle.svg"] = Answer(404)
        page.start(max_errors="0.999", min_hits="0.95")
        eventually(lambda: page.verdict()["hits of /media/*"][:2] == (FAILED, "at least 95%"))
        assert page.verdict()["errors of *"][:2] == (OK, "at most 99.90%")
        assert page.verdict()["the run"][0] == FAILED
        page.ask("/stop", {})


def test_a_master_has_no_processes_of_its_own(front: Front) -> None:
    knobs = {"LOADTEST_WORKERS": "1", "LOADTEST_PROCESSES": "2", "LOCUST_MASTER_BIND_PORT": str(free_port())}
    port = free_port()
    with started(LOCUST_HOST=front.address, LOCUST_WEB_PORT=str(port), **knobs):
        assert Page(port).arguments()["is_distributed"] is True


def test_a_master_shows_what_its_workers_saw_to_who_may_see_it(front: Front) -> None:
    port, door = free_port(), str(free_port())
    at_master = {"LOCUST_MASTER_BIND_PORT": door, "LOADTEST_WORKERS": "2", "LOCUST_WEB_PORT": str(port)}
    at_worker = {"LOCUST_MASTER_NODE_PORT": door, "LOADTEST_MASTER": "127.0.0.1", "LOADTEST_PROCESSES": "2"}
    with ExitStack() as house:
        house.enter_context(started(LOCUST_HOST=front.address, **at_master, **LOGIN))
        house.enter_context(started(**at_worker))
        page = Page(port)
        for path in ("/", "/stats/requests", "/caches/csv"):
            assert page.ask(path)[0].startswith("/login")
        for name, password in (("operator", "wrong"), ("other", "open sesame"), ("", "")):
            assert page.ask("/login", {"username": name, "password": password})[0] == "/login"
        assert "Wrong name or password" in page.ask("/login")[1]
        right = {"username": LOGIN["LOCUST_WEB_USERNAME"], "password": LOGIN["LOCUST_WEB_PASSWORD"]}
        assert page.ask("/login", right)[0] == "/"

        page.start()
        page.wait_for("/media/*.svg", "answers", 8)
        page.ask("/stop", {})
        # Every answer once, from whichever of the two it came; the last report takes some seconds.
        eventually(lambda: page.answers() == page.requests())
        assert page.answers()
        assert len(json.loads(page.ask("/stats/requests")[1])["workers"]) == 2


def test_a_worker_that_has_lost_its_master_is_not_healthy() -> None:
    result = health(LOADTEST_MASTER="127.0.0.1", LOCUST_MASTER_NODE_PORT=str(free_port()))
    assert result.returncode == 1
    assert "no connection to the master" in result.stderr
