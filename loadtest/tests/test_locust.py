"""Real Locust processes against the tiny front of house; what counts is what their user sees.

Always as processes of their own: importing Locust here would patch the test runner for gevent.
"""

import gzip
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

from support.ports import free_ports
from tiny_front import ASSETS, Answer, Front
from visitors import paths

LOADTEST = Path(__file__).parents[1]
UNTIL = Path(__file__).with_name("until.py")
# The same user with less patience, so that a short run sees reloads and newcomers, too.
RESTLESS = """
from locust import constant
from locustfile import *

for user in (Audience, WebAudience, FlashClient, Player, Reader):
    user.wait_time = constant(0.1)
for user in (Audience, WebAudience):
    user.patience = lambda self: 0.0
"""

SECRET = "open sesame"
ROW = re.compile(r"^(\S+) +(\S+) +(\d+) +(\d+)\([^)]*\) +\| +(\d+)", re.MULTILINE)


@dataclass
class Run:
    code: int
    output: str
    requests: dict[str, int]
    failures: dict[str, int]
    averages: dict[str, float]  # milliseconds


def environment(front: Front) -> dict[str, str]:
    """Where it is."""
    return {
        "LOCUST_HOST": front.address,
        "LOADTEST_STAGE_PORT": str(front.stage.port),
        "LOADTEST_POLICY_PORT": str(front.stage.policy_port),
    }


def locust(
    *options: str, until: dict[str, int], linger: float = 0, code: str = "locustfile.py", **variables: str
) -> tuple[int, str]:
    """Play Locust until each of those rows has so many samples; its exit code and what it said.

    `code`: the locustfile, `linger`: seconds to go on then.
    """
    command = [sys.executable, "-m", "locust", "--headless", "-u5", "-r5", "-t90s", "--only-summary"]
    command += ["-f", f"{code},{UNTIL}", *options]
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("LOCUST_", "LOADTEST_"))}
    done = subprocess.run(
        command,
        cwd=LOADTEST,
        env=clean
        | {"PYTHONPATH": str(LOADTEST), "UNTIL": json.dumps(until), "LINGER": str(linger)}
        | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    return done.returncode, done.stdout


def run(
    front: Front,
    *options: str,
    until: dict[str, int],
    users: str = "Audience",
    linger: float = 0,
    code: str = "locustfile.py",
    **variables: str,
) -> Run:
    """Run the shipped folder as the container does. Rows of lines have their type in front of their name."""
    returned, output = locust(
        *options, *users.split(), until=until, linger=linger, code=code, **environment(front), **variables
    )
    # The table it prints at the end: the files of --csv lack the last second.
    requests, failures, averages = {}, {}, {}
    for kind, name, count, failed, average in ROW.findall(output):
        row = name if name.startswith("/") else f"{kind} {name}"
        requests[row], failures[row], averages[row] = int(count), int(failed), float(average)
    missing = {row for row, least in until.items() if requests.get(row, 0) < least}
    assert not missing, output
    return Run(returned, output, requests, failures, averages)


def failed(result: Run) -> set[str]:
    """The rows in which something failed."""
    return {row for row, count in result.failures.items() if count}


def eventually(check: Callable[[], bool]) -> None:
    """Wait until it is so."""
    deadline = time.monotonic() + 60
    while not check():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture
def restless(tmp_path: Path) -> str:
    path = tmp_path / "restless.py"
    path.write_text(RESTLESS)
    return str(path)


def test_healthy_stack_passes_with_a_row_for_everything(front: Front) -> None:
    front.delay = 0.02
    until = {"stage join": 5, "stage chat": 1, "stage heard": 1}
    result = run(front, "--audience=stays", until=until, LOADTEST_CHAT_RATE="60")
    assert result.code == 0, result.output
    assert result.failures == {
        "/stages/demo": 0,
        "/admin/id": 0,
        "/style/*.css": 0,
        "/script/*.js": 0,
        "/image/*.svg": 0,
        "/media/*.svg": 0,
        "/media/audio/*.mp3": 0,
        "stage connect": 0,
        "stage join": 0,
        "stage chat": 0,
        "stage heard": 0,
    }
    assert result.requests["/stages/demo"] == 5
    assert result.requests["/media/*.svg"] == 10


def test_one_visitor_loads_in_parallel_over_six_connections(front: Front) -> None:
    front.delay = 0.3
    result = run(front, "-u1", until={"/script/*.js": 2})
    assert result.code == 0, result.output
    assert front.most_in_flight == 6


def test_reloads_ask_only_for_what_may_have_changed(front: Front, restless: str) -> None:
    result = run(front, code=restless, until={"/stages/demo": 100})
    assert result.code == 0, result.output
    pages = front.asked["/stages/demo"]
    assert front.asked["/media/queen.svg"] > 0.9 * pages
    assert 0 < front.revalidated["/media/queen.svg"] < front.asked["/media/queen.svg"]
    # Some of the visits are newcomers', who have nothing yet; the others have the script.
    assert 5 < front.asked["/script/v1/main.js"] < 0.6 * pages
    assert front.revalidated["/script/v1/main.js"] == 0
    assert front.asked["/admin/id"] > 0.9 * pages
    assert front.revalidated["/admin/id"] == 0


def test_a_304_that_names_an_encoding_is_no_failure(front: Front, restless: str) -> None:
    picture = front.answers["/media/queen.svg"]
    picture.body, picture.headers["Content-Encoding"] = gzip.compress(b"<svg/>"), "gzip"
    result = run(front, code=restless, until={"/media/*.svg": 60})
    assert result.code == 0, result.output
    assert front.revalidated["/media/queen.svg"] > 0


def test_those_who_come_first_together_may_all_miss(front: Front) -> None:
    # Everybody's requests are under way before the first answer of any URL is complete.
    front.delay = 0.5
    front.hit = "varnish; hit, nginx; fwd=bypass"
    result = run(front, "--audience=stays", until={"/media/*.svg": 10})
    assert result.code == 0, result.output
    assert result.requests["/media/*.svg"] == 10


def test_varnish_that_passes_media_fails_the_run(front: Front, restless: str) -> None:
    front.hit = "varnish; fwd=bypass; ttl=1"
    result = run(front, code=restless, until={"/media/*.svg": 20})
    assert result.code == 1
    assert "not a hit after warm-up, Cache-Status: varnish; fwd=bypass" in result.output
    assert "ttl" not in result.output
    assert result.failures["/media/*.svg"] > 0
    assert result.failures["/stages/demo"] == 0


def test_stack_without_cache_status_fails_the_run(front: Front, restless: str) -> None:
    front.hit = front.miss = ""
    result = run(front, code=restless, until={"/media/*.svg": 20})
    assert result.code == 1
    assert "Cache-Status: (missing)" in result.output


@pytest.mark.parametrize(
    ("path", "answer", "reason"),
    [
        ("/stages/demo", Answer(body=b"<h1>Demo</h1>"), "the stage page names no media"),
        ("/stages/demo", Answer(), "/stages/demo: empty body"),
        ("/stages/demo", Answer(503, b"later"), "/stages/demo: status 503"),
        ("/stages/demo", Answer(302, headers={"Location": "/"}), "/stages/demo: status 302"),
        # The body of this 404 is no text in any encoding, as that of a picture.
        ("/media/queen.svg", Answer(404, b"\x89PNG\xff\xfe"), "/media/queen.svg: status 404"),
        ("/media/audio/bell.mp3", Answer(), "/media/audio/bell.mp3: empty body"),
        ("/media/castle.svg", Answer(body=b"half", content_length=8), "HTTPParseError"),
        ("/admin/id", Answer(body=b"<html>Log in</html>"), "the identity lacks canAct"),
    ],
)
def test_wrong_answer_fails_the_run_with_its_reason(
    front: Front, path: str, answer: Answer, reason: str
) -> None:
    front.answers[path] = answer
    result = run(front, "-u1", until={paths.row(path): 2 if path.endswith(".svg") else 1})
    assert result.code == 1, result.output
    assert reason in result.output
    assert failed(result) == {paths.row(path)}
    assert "Traceback" not in result.output


def test_closed_house_fails_the_run(front: Front) -> None:
    result = run(front, "-u1", "--host", "http://127.0.0.1:1/", until={"/stages/demo": 1})
    assert result.code == 1
    assert "ConnectionRefusedError" in result.output


def test_host_may_end_with_a_slash(front: Front) -> None:
    result = run(front, "-u1", "--host", f"{front.address}/", until={"stage join": 1})
    assert result.code == 0, result.output
    assert set(front.asked) == {"/stages/demo", "/admin/id", *ASSETS}


@pytest.fixture
def web_ui(front: Front) -> Iterator[int]:
    """The port of a Locust with its web UI, started as the container does, healthy."""
    [port] = free_ports(1)
    assert health(port).returncode != 0
    command = [sys.executable, "-m", "locust", "--web-host", "127.0.0.1", "--web-port", str(port)]
    variables = os.environ | environment(front) | {"LOADTEST_PASSWORD": SECRET}
    with subprocess.Popen(command, cwd=LOADTEST, env=variables) as locust:
        try:
            deadline = time.monotonic() + 120
            while health(port).returncode != 0:
                assert locust.poll() is None, "Locust has ended"
                assert time.monotonic() < deadline, "Locust is not healthy"
                time.sleep(0.2)
            yield port
        finally:
            locust.terminate()


def health(port: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(LOADTEST / "health.py")],
        env=os.environ | {"LOCUST_WEB_PORT": str(port)},
        capture_output=True,
        text=True,
        check=False,
    )


def ask(port: int, path: str, form: dict[str, str] | None = None) -> str:
    data = None if form is None else urlencode(form).encode()
    with urlopen(f"http://127.0.0.1:{port}{path}", data, timeout=60) as response:
        return str(response.read(), "utf-8")


def test_web_ui_starts_with_one_click(front: Front, web_ui: int) -> None:
    index = ask(web_ui, "/")
    # What the form shows before anybody has typed anything.
    shown = json.loads(index.partition("window.templateArgs = ")[2].partition("\n")[0].rstrip("; "))
    assert shown["host"] == front.address
    assert shown["show_userclass_picker"] is True
    assert sorted(shown["users"]) == [
        "Audience",
        "FlashClient",
        "Player",
        "Reader",
        "SlowReader",
        "WebAudience",
    ]
    assert shown["available_shape_classes"] == [
        "Default",
        "CurtainUp",
        "Interval",
        "LongRun",
        "Slashdot",
        "Step",
    ]
    fields = shown["extra_options"]
    assert fields["topology"]["choices"][0] == fields["topology"]["default_value"] == "upstage.localhost"
    assert fields["audience"]["choices"] == ["reloads", "stays"]
    assert {"stage", "chat_rate", "player", "password"} < fields.keys()
    assert fields["password"]["is_secret"] is True
    assert SECRET not in index
    assert (shown["num_users"], shown["spawn_rate"]) == (20, 4)

    form = {"user_count": "3", "spawn_rate": "3", "host": front.address, "user_classes": "Audience"}
    assert json.loads(ask(web_ui, "/swarm", form))["success"] is True
    deadline = time.monotonic() + 60
    while True:
        stats = json.loads(ask(web_ui, "/stats/requests?"))
        rows = {row["name"]: row["num_requests"] for row in stats["stats"]}
        if rows.get("/media/*.svg", 0) >= 6:
            break
        assert time.monotonic() < deadline, stats
        time.sleep(0.5)
    assert stats["errors"] == []
    assert json.loads(ask(web_ui, "/stop", {}))["success"] is True


def test_health_check_says_why_not() -> None:
    [port] = free_ports(1)
    result = health(port)
    assert result.returncode == 1
    assert "web UI does not answer" in result.stderr
