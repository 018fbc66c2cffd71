"""The drivers' reading of reports by ab, wrk and httperf, and the measurements that they reject."""

import re
from pathlib import Path
from typing import Any

import pytest

from bench.drivers import ab, fixed_rate, wrk
from bench.lab_stack import Problem
from bench.percentile import percentile
from bench.tests.programs import Generator


@pytest.mark.parametrize(("percent", "expected"), [(1, 1), (50, 50), (95, 95), (99, 99)])
def test_a_percentile_is_the_value_that_so_many_values_do_not_exceed(percent: int, expected: float) -> None:
    assert percentile([float(value) for value in range(100, -1, -1)], percent) == expected
    assert percentile([7.0], percent) == 7


def test_the_programs_that_the_tools_start_exist() -> None:
    """Our own programs are started by name, inside a container."""
    folder = Path(ab.__file__).parents[1]
    sources = "".join(file.read_text() for file in folder.glob("drivers/*.py"))
    named = {*re.findall(r'(?:client="|report\(stack, .*?")(\w+)"[,)]', sources), "round_robin"}
    assert named >= {"hold_connections", "fan_out", "chat", "crowd", "page_loads", "stores", "malformed"}
    assert all(list(folder.glob(f"clients/{name}.*")) for name in named)


# --- ab

FIRST = "Document Length:        5000 bytes\nComplete requests:      1\nFailed requests:        0\n"
# From ab 2.3, shortened.
MEASURED = """\
Document Length:        5000 bytes

Concurrency Level:      4
Time taken for tests:   0.500 seconds
Complete requests:      400
Failed requests:        0
Keep-Alive requests:    396
Total transferred:      2080800 bytes
Requests per second:    800.00 [#/sec] (mean)
Generator: 0.050 0.150
Percentage served,Time in ms
0,0.834
50,2.125
95,9.500
99,12.498
100,13.000
"""
LOAD: dict[str, Any] = {
    "url": "http://nginx:8000",
    "path": "/media/bench/small.swf",
    "requests": 50000,
    "seconds": 1,
    "clients": 25,
    "keepalive": False,
}


def read(first: str = FIRST, measured: str = MEASURED, expected: int | None = None) -> dict[str, float]:
    return ab.metrics(f"{first}=== measured\n{measured}", expected)


def test_the_report_of_ab() -> None:
    assert read(expected=5000) == pytest.approx(
        {
            "requests": 400,
            "seconds": 0.5,
            "requests_per_second": 800,
            "milliseconds": 1.25,
            "p50_milliseconds": 2.125,
            "p95_milliseconds": 9.5,
            "p99_milliseconds": 12.498,
            "bytes_per_second": 4161600,
            "kept_alive_percent": 99,
            "generator_cpu_percent": 40,
        }
    )


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("Failed requests:        0", "Failed requests:        37", "37 of 400 requests failed"),
        (
            "Keep-Alive",
            "Non-2xx responses:      4\nKeep-Alive",
            "4 of 400 requests were not answered by a 2xx",
        ),
        ("Length:        5000", "Length:        335", "5000 bytes at first, then 335"),
        ("Time taken", "Time lost", "did not print"),
    ],
)
def test_a_run_of_ab_with_failures_is_rejected(old: str, new: str, reason: str) -> None:
    assert old in MEASURED
    with pytest.raises(Problem, match=reason):
        read(measured=MEASURED.replace(old, new))


def test_a_wrong_first_response_is_rejected() -> None:
    with pytest.raises(Problem, match="not a 2xx"):
        read(first=FIRST + "Non-2xx responses:      1\n")
    with pytest.raises(Problem, match="5000 bytes instead of 75000"):
        read(expected=75_000)


def test_percentiles_that_ab_cannot_know_are_left_out() -> None:
    """With few requests ab reads past its last sample: it has really printed the figure below."""
    few = MEASURED.replace("requests:      400", "requests:      40")
    figures = read(measured=few.replace("99,12.498", "99,7311156825131345.000"))
    assert "p99_milliseconds" not in figures
    assert figures["p95_milliseconds"] == 9.5


def test_the_command_line_of_ab() -> None:
    generator = Generator(*[f"{FIRST}=== measured\n{MEASURED}"] * 3)
    ab.measure(generator.stack, LOAD)
    more = {"host": "upstage.localhost", "keepalive": True, "headers": ["Cookie: a=b"]}
    ab.measure(generator.stack, {**LOAD, **more})
    ab.measure(generator.stack, {**LOAD, "post": "q=CMS"})
    first, second, third = generator.commands
    assert first[3:] == ("ab", "50000", "1", "25", "", "http://nginx:8000/media/bench/small.swf")
    assert second[8:-1] == ("-k", "-H", "Cookie: a=b", "-H", "Host: upstage.localhost")
    assert third[7] == "q=CMS"
    assert third[8:-1] == ("-p", "/tmp/ab.body", "-T", "application/x-www-form-urlencoded")


# --- wrk

WRK = """\
  Latency Distribution
     50%  960.00us
     75%   51.35ms
     90%   98.40ms
     99%    1.78s
  920 requests in 1.15s, 1.18MB read
Requests/sec:    800.00
Generator: 0.100 0.360
"""


def test_the_report_of_wrk() -> None:
    assert wrk.metrics(WRK) == pytest.approx(
        {
            "requests": 920,
            "seconds": 1.15,
            "requests_per_second": 800,
            "p50_milliseconds": 0.96,
            "p99_milliseconds": 1780,
            "generator_cpu_percent": 40,
        }
    )
    assert wrk.metrics(WRK.replace("1.15s", "1.50m"))["seconds"] == 90


def test_wrk_requests_a_page_and_its_elements_in_turn() -> None:
    generator = Generator(WRK, WRK)
    load = {**LOAD, "host": "www.example.com", "path": "/index.php", "seconds": 0.3}
    found = wrk.measure(generator.stack, {**load, "elements": 3, "element": "/thumbnail.svg?"})
    assert found["pages_per_second"] == pytest.approx(200)
    assert "pages_per_second" not in wrk.measure(generator.stack, load)
    page, single = generator.commands
    assert page[4:8] == ("-c", "25", "-d", "1s")
    paths = ("/index.php", "/thumbnail.svg?1", "/thumbnail.svg?2", "/thumbnail.svg?3")
    assert page[-8:] == ("-s", wrk.ROUND_ROBIN, "http://nginx:8000/index.php", "--", *paths)
    assert single[-1] == "http://nginx:8000/index.php"
    assert "-s" not in single


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("Req", "  Non-2xx or 3xx responses: 7\nReq", "^7 of 920 requests were not answered by a 2xx$"),
        ("Req", "  Socket errors: connect 0, read 3\nReq", "^Socket errors: connect 0, read 3$"),
        ("920", "0", "wrk measured nothing"),
        (WRK, "unable to connect to nginx:8000", "wrk measured nothing: unable to connect"),
        ("1.18MB", "1.12MB", "^the responses had 1277 bytes instead of 1300$"),
        ("1.18MB", "1.12KB", "^the responses had 1 bytes instead of 1300$"),
    ],
)
def test_a_run_of_wrk_with_failures_is_rejected(old: str, new: str, reason: str) -> None:
    with pytest.raises(Problem, match=reason):
        wrk.metrics(WRK.replace(old, new), 1300)


# --- httperf

RATE: dict[str, Any] = {
    "host": "nginx-today",
    "port": 8080,
    "path": "/page.html",
    "service": "nginx-today",
    "bytes": 5000,
    "rate": 200,
    "seconds": 1,
    "timeout": 2,
    "generators": 1,
}


# From httperf 0.9.0, shortened.
HTTPERF = """\
=== report
Maximum connect burst length: 4

Connection lifetime histogram (time in ms):
             0.5 129
             1.5 67
             :
            28.5 1
            29.5 1
             :
            31.5 2

Total: connections 200 requests 200 replies 200 test-duration 0.997 s

Connection rate: 200.6 conn/s (5.0 ms/conn, <=8 concurrent connections)
Connection time [ms]: min 0.1 avg 3.4 max 31.6 median 0.5 stddev 6.3
Reply size [B]: header 235.0 content 5000.0 footer 0.0 (total 5235.0)
Reply status: 1xx=0 2xx=200 3xx=0 4xx=0 5xx=0

CPU time [s]: user 0.05 system 0.36 (user 4.7% system 36.1% total 40.8%)
"""


def httperf(*changes: tuple[str, str]) -> str:
    """Another report."""
    printed = HTTPERF
    for old, new in changes:
        assert old in printed
        printed = printed.replace(old, new)
    return printed


IMPATIENT = httperf(
    ("length: 4", "length: 51"),
    ("min 0.1 avg 3.4 max 31.6 median 0.5 stddev 6.3", "min 0.2 avg 1.4 max 12.2 median 0.5 stddev 2.0"),
    ("duration 0.997", "duration 0.513"),
    ("2xx=200", "2xx=1416"),
)
REFUSED = httperf(("2xx=200", "2xx=0"), ("content 5000.0", "content 0.0"))
STARVED = httperf(("length: 4", "length: 39"), ("total 40.8%", "total 2.1%"))


def test_the_report_of_httperf() -> None:
    found = fixed_rate.metrics(HTTPERF, rate=200, due=200, expected=5000)
    assert found == {
        "seconds": 0.997,
        "requests_per_second": pytest.approx(200.6, abs=0.01),
        "errors": 0,
        "saturated": 0,
        "connections_at_once": 8,
        "late_milliseconds": pytest.approx(20),  # four at once, 5 ms apart
        "httperf_cpu_percent": 40.8,
        "lowest_milliseconds": 0.1,
        "milliseconds": 3.4,
        "highest_milliseconds": 31.6,
        "deviation_milliseconds": pytest.approx(6.3),
        "p99_milliseconds": pytest.approx(
            30, abs=0.05
        ),  # the third of 200 from the end lies between 29 and 30
    }
    durations = fixed_rate.Report.read(HTTPERF).durations
    assert (len(durations), durations.count(1), max(durations)) == (200, 129, 32)


def test_the_reports_of_several_processes_are_merged() -> None:
    found = fixed_rate.metrics(HTTPERF + IMPATIENT, rate=3000, due=1500, expected=5000)
    assert found["errors"] == 3000 - 200 - 1416
    assert found["requests_per_second"] == pytest.approx((200 + 1416) / 0.997), "until the last has ended"
    assert (found["lowest_milliseconds"], found["highest_milliseconds"]) == (0.1, 31.6)
    assert found["milliseconds"] == pytest.approx((200 * 3.4 + 1416 * 1.4) / 1616)
    # The squares of both, around the common mean.
    squares = (200 * (6.3**2 + 3.4**2) + 1416 * (2.0**2 + 1.4**2)) / 1616
    assert found["deviation_milliseconds"] == pytest.approx((squares - found["milliseconds"] ** 2) ** 0.5)
    assert found["late_milliseconds"] == pytest.approx(51 / 3), "of the later one"
    assert found["saturated"] == 1
    with pytest.raises(fixed_rate.Late, match="195 ms late"):
        fixed_rate.metrics(HTTPERF + STARVED, rate=200, due=200, expected=5000)
    one_of_two = fixed_rate.metrics(REFUSED + HTTPERF, rate=200, due=200, expected=5000)
    assert (one_of_two["errors"], one_of_two["milliseconds"]) == (200, 3.4)


def test_a_server_that_answers_everything_too_slowly_is_saturated() -> None:
    slow = httperf(("0.997 s", "1.060 s"))
    found = fixed_rate.metrics(slow, rate=200, due=200, expected=5000)
    assert (found["errors"], found["saturated"]) == (0, 1)


def test_a_late_generator_is_the_bottleneck() -> None:
    with pytest.raises(
        fixed_rate.Late, match=r"bottleneck: .* 195 ms late, 39 connections at once, 2 % of a core"
    ):
        fixed_rate.metrics(STARVED, rate=200, due=200, expected=5000)
    long_burst = httperf(("length: 4", "length: 257"))
    with pytest.raises(fixed_rate.Late, match="86 ms late, 257 connections"):
        fixed_rate.metrics(long_burst, rate=3000, due=1500, expected=5000)


@pytest.mark.parametrize(
    ("printed", "reason"),
    [
        (REFUSED, "none of 100 connections was answered"),
        (httperf(("content 5000", "content 335")), "335 bytes instead of 5000"),
        ("=== report\nRequests per second: 1000", "did not print"),
        (httperf((".5 ", " ")), "no histogram"),
    ],
)
def test_a_sweep_without_good_responses_is_rejected(printed: str, reason: str) -> None:
    with pytest.raises(Problem, match=reason):
        fixed_rate.metrics(printed, rate=200, due=100, expected=5000)


def test_every_connection_carries_one_request_and_the_server_closes() -> None:
    generator = Generator(HTTPERF * 2)
    fixed_rate.measure(generator.stack, {**RATE, "rate": 5000, "seconds": 0.3, "generators": 2})
    [command] = generator.commands
    assert command[3:5] == ("fixed_rate", "2")
    assert "--rate=2500" in command
    assert "--num-conns=750" in command
    assert r"--add-header=Connection: close\n" in command
    assert not [option for option in command if option.startswith("--num-calls")]


def test_a_late_generator_tries_again_up_to_a_limit() -> None:
    generator = Generator(STARVED, HTTPERF)
    found = fixed_rate.measure(generator.stack, RATE)
    assert (found["milliseconds"], found["memory_bytes"]) == (3.4, 3_000_000)
    generator = Generator(*[STARVED] * 9)
    with pytest.raises(Problem, match="generator was the bottleneck"):
        fixed_rate.measure(generator.stack, RATE)
    assert len(generator.commands) == fixed_rate.ATTEMPTS
    generator = Generator(REFUSED, HTTPERF)
    with pytest.raises(Problem, match="none of 200"):
        fixed_rate.measure(generator.stack, RATE)
    assert len(generator.commands) == 1, "what the server does wrong is measured once"
