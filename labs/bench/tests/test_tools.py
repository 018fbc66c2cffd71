"""Other people's load generators: what the drivers read in their reports, and which runs they reject."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from labs.bench.drivers import ab, cold_visit, curl, fixed_rate, h2load, wrk
from labs.bench.lab_stack import Problem
from labs.bench.percentile import percentile
from labs.bench.tests.generator import Generator

Read = Callable[[str], dict[str, float]]


@pytest.mark.parametrize(("percent", "expected"), [(1, 1), (50, 50), (95, 95), (99, 99)])
def test_a_percentile_is_the_value_that_so_many_values_do_not_exceed(percent: int, expected: float) -> None:
    assert percentile([float(value) for value in range(100, -1, -1)], percent) == expected
    assert percentile([7.0], percent) == 7


def changed(printed: str, *changes: tuple[str, str]) -> str:
    """Return a changed report: each old text is replaced by a new one."""
    for old, new in changes:
        assert old in printed
        printed = printed.replace(old, new)
    return printed


# --- The reports

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
AB = f"{FIRST}=== measured\n{MEASURED}"

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
# From h2load 1.64.0, shortened.
H2LOAD = """\
Application protocol: h2
finished in 2.00s, 800.00 req/s, 57.30MB/s
requests: 1600 total, 1610 started, 1600 done, 1600 succeeded, 0 failed, 0 errored, 0 timeout
status codes: 1602 2xx, 0 3xx, 0 4xx, 0 5xx
traffic: 114.60MB (120170000) total, 66.97KB (68578) headers (space savings 62.71%), 114.44MB (120000000) data
Generator: 0.300 0.500
"""
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
IMPATIENT = changed(
    HTTPERF,
    ("length: 4", "length: 51"),
    ("min 0.1 avg 3.4 max 31.6 median 0.5 stddev 6.3", "min 0.2 avg 1.4 max 12.2 median 0.5 stddev 2.0"),
    ("duration 0.997", "duration 0.513"),
    ("2xx=200", "2xx=1416"),
)
REFUSED = changed(HTTPERF, ("2xx=200", "2xx=0"), ("content 5000.0", "content 0.0"))
STARVED = changed(HTTPERF, ("length: 4", "length: 39"), ("total 40.8%", "total 2.1%"))


of_ab, of_wrk = partial(ab.metrics, expected=5000), partial(wrk.metrics, expected=1300)
of_h2load = partial(h2load.metrics, expected=75_000)
of_httperf = partial(fixed_rate.metrics, rate=200, due=200, expected=5000)


OF_AB = {
    **{"requests": 400, "seconds": 0.5, "milliseconds": 1.25, "bytes_per_second": 4161600},
    **{"p50_milliseconds": 2.125, "p95_milliseconds": 9.5, "p99_milliseconds": 12.498},
    "kept_alive_percent": 99,
}


@pytest.mark.parametrize(
    ("read", "printed", "found"),
    [
        (of_ab, AB, OF_AB),
        (of_wrk, WRK, {"requests": 920, "seconds": 1.15, "p50_milliseconds": 0.96, "p99_milliseconds": 1780}),
        (
            of_h2load,
            H2LOAD,
            {"requests": 1600, "seconds": 2, "bytes_per_second": 60_000_000, "http_version": 2},
        ),
    ],
    ids=["ab", "wrk", "h2load"],
)
def test_a_report_has_the_figures_of_the_run(read: Read, printed: str, found: dict[str, float]) -> None:
    of_all = {"requests_per_second": 800, "generator_cpu_percent": 40}
    assert read(printed) == pytest.approx({**found, **of_all})


def test_minutes_and_an_older_http_are_read_too() -> None:
    assert of_wrk(changed(WRK, ("1.15s", "1.50m")))["seconds"] == 90
    assert of_h2load(changed(H2LOAD, ("protocol: h2", "protocol: http/1.1")))["http_version"] == 1.1


NOT_2XX = "requests were not answered by a 2xx$"


@pytest.mark.parametrize(
    ("read", "printed", "old", "new", "reason"),
    [
        (of_ab, AB, "0\nKeep-Alive", "37\nKeep-Alive", "^37 of 400 requests failed$"),
        (of_ab, AB, "Keep-Alive", "Non-2xx responses: 4\nKeep-Alive", f"^4 of 400 {NOT_2XX}"),
        (of_ab, AB, "5000 bytes\n\n", "335 bytes\n\n", "5000 bytes at first, then 335"),
        (of_ab, AB, "Time taken", "Time lost", "did not print"),
        (of_ab, AB, "=== measured", "Non-2xx responses: 1\n=== measured", "the first response was not a 2xx"),
        (of_ab, AB, "5000 bytes", "75000 bytes", "75000 bytes instead of 5000"),
        (of_wrk, WRK, "Req", "  Non-2xx or 3xx responses: 7\nReq", f"^7 of 920 {NOT_2XX}"),
        (of_wrk, WRK, "Req", "  Socket errors: connect 0, read 3\nReq", "^Socket errors: connect 0, read 3$"),
        (of_wrk, WRK, "920", "0", "wrk measured nothing"),
        (of_wrk, WRK, WRK, "unable to connect to nginx:8000", "wrk measured nothing: unable to connect"),
        (of_wrk, WRK, "1.18MB", "1.12MB", "^the responses had 1277 bytes instead of 1300$"),
        (of_wrk, WRK, "1.18MB", "1.12KB", "^the responses had 1 bytes instead of 1300$"),
        (of_h2load, H2LOAD, "1600 done", "0 done", "no response"),
        (of_h2load, H2LOAD, "0 failed", "3 failed", "^3 of 1600 requests: failed$"),
        (of_h2load, H2LOAD, "0 errored", "4 errored", "^4 of 1600 requests: errored$"),
        (of_h2load, H2LOAD, "0 timeout", "5 timeout", "^5 of 1600 requests: timeout$"),
        (of_h2load, H2LOAD, "0 3xx", "6 3xx", f"^6 of 1600 {NOT_2XX}"),
        (of_h2load, H2LOAD, "0 5xx", "7 5xx", f"^7 of 1600 {NOT_2XX}"),
        (of_h2load, H2LOAD, "(120000000)", "(110000000)", "^the responses had 68750 bytes instead of 75000$"),
        (of_h2load, H2LOAD, H2LOAD, "could not resolve nginx:8443", "could not resolve"),
        (of_httperf, HTTPERF, HTTPERF, REFUSED, "none of 200 connections was answered"),
        (of_httperf, HTTPERF, "content 5000", "content 335", "335 bytes instead of 5000"),
        (of_httperf, HTTPERF, HTTPERF, "=== report\nRequests per second: 1000", "did not print"),
        (of_httperf, HTTPERF, ".5 ", " ", "no histogram"),
    ],
)
def test_a_run_with_failures_is_rejected(read: Read, printed: str, old: str, new: str, reason: str) -> None:
    with pytest.raises(Problem, match=reason):
        read(changed(printed, (old, new)))


# --- ab

LOAD: dict[str, Any] = {
    **{"url": "http://nginx:8000", "path": "/media/bench/small.swf", "requests": 50000, "seconds": 1},
    **{"clients": 25, "keepalive": False},
}


def test_percentiles_that_ab_cannot_know_are_left_out() -> None:
    """With few requests ab reads past its last sample: it really printed the figure below."""
    few = MEASURED.replace("requests:      400", "requests:      40")
    figures = of_ab(f"{FIRST}=== measured\n" + few.replace("99,12.498", "99,7311156825131345.000"))
    assert "p99_milliseconds" not in figures
    assert figures["p95_milliseconds"] == 9.5


def test_the_command_line_of_ab() -> None:
    generator = Generator(AB, AB, AB)
    ab.measure(generator.stack, LOAD)
    more = {"host": "upstage.localhost", "keepalive": True, "headers": ["Cookie: a=b"]}
    ab.measure(generator.stack, {**LOAD, **more})
    ab.measure(generator.stack, {**LOAD, "post": "q=CMS"})
    first, second, third = generator.commands
    assert first[3:] == ("ab", "50000", "1", "25", "", "http://nginx:8000/media/bench/small.swf")
    assert second[8:-1] == ("-k", "-H", "Cookie: a=b", "-H", "Host: upstage.localhost")
    assert third[7] == "q=CMS"
    assert third[8:-1] == ("-p", "/tmp/ab.body", "-T", "application/x-www-form-urlencoded")


# --- httperf

RATE: dict[str, Any] = {
    **{"host": "nginx-today", "port": 8080, "path": "/page.html", "service": "nginx-today", "bytes": 5000},
    **{"rate": 200, "seconds": 1, "timeout": 2, "generators": 1},
}


def test_the_report_of_httperf() -> None:
    found = of_httperf(HTTPERF)
    assert found == {
        "seconds": 0.997,
        "requests_per_second": pytest.approx(200.6, abs=0.01),
        "errors": 0,
        "saturated": 0,
        "connections_at_once": 8,
        "late_milliseconds": pytest.approx(20),  # four connections at once, 5 ms apart
        "httperf_cpu_percent": 40.8,
        "lowest_milliseconds": 0.1,
        "milliseconds": 3.4,
        "highest_milliseconds": 31.6,
        "deviation_milliseconds": pytest.approx(6.3),
        "p99_milliseconds": pytest.approx(30, abs=0.05),  # the third-longest time is between 29 and 30
    }
    durations = fixed_rate.Report.read(HTTPERF).durations
    assert (len(durations), durations.count(1), max(durations)) == (200, 129, 32)


def test_the_reports_of_several_processes_are_merged() -> None:
    found = fixed_rate.metrics(HTTPERF + IMPATIENT, rate=3000, due=1500, expected=5000)
    assert found["errors"] == 3000 - 200 - 1416
    assert found["requests_per_second"] == pytest.approx((200 + 1416) / 0.997), "until the last has ended"
    assert (found["lowest_milliseconds"], found["highest_milliseconds"]) == (0.1, 31.6)
    assert found["milliseconds"] == pytest.approx((200 * 3.4 + 1416 * 1.4) / 1616)
    # The squares of both deviations, around the common mean.
    squares = (200 * (6.3**2 + 3.4**2) + 1416 * (2.0**2 + 1.4**2)) / 1616
    assert found["deviation_milliseconds"] == pytest.approx((squares - found["milliseconds"] ** 2) ** 0.5)
    assert found["late_milliseconds"] == pytest.approx(51 / 3), "of the later one"
    assert found["saturated"] == 1
    with pytest.raises(fixed_rate.Late, match="195 ms late"):
        of_httperf(HTTPERF + STARVED)
    one_of_two = of_httperf(REFUSED + HTTPERF)
    assert (one_of_two["errors"], one_of_two["milliseconds"]) == (200, 3.4)


def test_a_server_that_answers_everything_too_slowly_is_saturated() -> None:
    found = of_httperf(changed(HTTPERF, ("0.997 s", "1.060 s")))
    assert (found["errors"], found["saturated"]) == (0, 1)


def test_a_generator_with_a_long_burst_is_the_bottleneck() -> None:
    long_burst = changed(HTTPERF, ("length: 4", "length: 257"))
    with pytest.raises(fixed_rate.Late, match="86 ms late, 257 connections"):
        fixed_rate.metrics(long_burst, rate=3000, due=1500, expected=5000)


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
    with pytest.raises(Problem, match=r"bottleneck: .* 195 ms late, 39 connections at once, 2 % of a core"):
        fixed_rate.measure(generator.stack, RATE)
    assert len(generator.commands) == fixed_rate.ATTEMPTS
    generator = Generator(REFUSED, HTTPERF)
    with pytest.raises(Problem, match="none of 200"):
        fixed_rate.measure(generator.stack, RATE)
    assert len(generator.commands) == 1, "what the server does wrong is measured once"


# --- h2load

TLS: dict[str, Any] = {"host": "a.example", "path": "/", "tls": "nginx:8443", "clients": 10, "seconds": 4}


def test_a_run_of_h2load_that_never_ends_is_repeated() -> None:
    timeout = Problem("timeout")
    generator = Generator(timeout, timeout, H2LOAD)
    assert h2load.measure(generator.stack, TLS)["requests"] == 1600
    with pytest.raises(Problem, match="timeout"):
        h2load.measure(Generator(timeout, timeout, timeout, H2LOAD).stack, TLS)


def test_a_run_of_h2load_whose_connections_were_closed_is_rejected() -> None:
    closed = Generator(H2LOAD.replace("1610 started", "1600 started"))
    with pytest.raises(Problem, match=r"^0 of 10 requests in progress: the server has closed connections$"):
        h2load.measure(closed.stack, TLS)


# --- curl

CURL: dict[str, Any] = {
    **{"url": "https://nginx:8443", "path": "/a.swf", "http": "--http3-only", "version": "3"},
    **{"clients": 25, "requests": 4, "bytes": 75_000},
}


def test_the_report_of_curl() -> None:
    bad = "3 200 75000\n0 000 0\nTook: 0.5 0.1 0.1\n"  # this run is repeated
    generator = Generator(bad, bad, "3 200 75000\n" * 4 + "Took: 0.500 0.150 0.050\n")
    found = {"requests": 4, "seconds": 0.5, "requests_per_second": 8, "bytes_per_second": 600_000}
    assert curl.measure(generator.stack, CURL) == pytest.approx({**found, "generator_cpu_percent": 40})
    assert generator.commands[0][-1] == "https://nginx:8443/a.swf?[1-4]"


@pytest.mark.parametrize("bad", ["2 200 75000\n", "3 503 75000\n", "3 200 74999\n", "0 000 0\n", ""])
def test_a_run_of_curl_is_rejected_if_one_response_is_not_whole_or_of_another_version(bad: str) -> None:
    with pytest.raises(Problem, match="1 of 4 responses were not '3 200 75000'"):
        curl.metrics("3 200 75000\n" * 3 + bad + "Took: 0.500 0.150 0.050\n", CURL)
    with pytest.raises(Problem, match="curl ended with 'killed'"):
        curl.metrics("3 200 75000\n" * 4 + "killed", CURL)


# --- A first visit

VISIT: dict[str, Any] = {**CURL, "address": "nginx", "port": 8443, "host": "a.example", "round_trip": 50}


def test_a_visit_is_the_median_in_milliseconds_and_in_round_trips() -> None:
    generator = Generator(*(f"3 200 75000 {seconds}\n" for seconds in ("0.9", "0.1", "0.2")))
    found = cold_visit.measure(generator.stack, {**VISIT, "visits": 3})
    assert found == pytest.approx({"milliseconds": 200, "round_trips": 4})


def test_a_visit_over_another_version_is_rejected() -> None:
    with pytest.raises(Problem, match=r"was not '3 200 75000 ', but '2 200 75000 0\.1'"):
        cold_visit.metrics(["3 200 75000 0.1\n", "2 200 75000 0.1\n"], VISIT)
