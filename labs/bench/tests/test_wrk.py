"""What is read from wrk's report, and which reports are refused."""

import pytest

from bench.house import Problem
from bench.tools import wrk

REPORT = """\
Running 1s test @ http://nginx:8000/media/fox.svg
  1 threads and 25 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency    37.46ms   40.79ms 183.17ms   85.97%
    Req/Sec     0.91k   615.93     1.93k    60.00%
  Latency Distribution
     50%  960.00us
     75%   51.35ms
     90%   98.40ms
     99%    1.78s
  920 requests in 1.15s, 1.18MB read
Requests/sec:    800.00
Transfer/sec:      1.16MB
Generator: 0.100 0.360
"""


def test_the_report_in_figures() -> None:
    figures = wrk.metrics(REPORT)
    assert figures == {
        "requests": 920,
        "seconds": 1.15,
        "requests_per_second": pytest.approx(800),
        "p50_milliseconds": pytest.approx(0.96),
        "p99_milliseconds": pytest.approx(1780),
        "generator_cpu_percent": pytest.approx(40),
    }


def test_a_long_run_is_told_in_minutes() -> None:
    assert wrk.metrics(REPORT.replace("1.15s", "1.50m"))["seconds"] == 90


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("  Non-2xx or 3xx responses: 7\n", "7 of 920 requests were not 2xx"),
        (
            "  Socket errors: connect 0, read 3, write 0, timeout 1\n",
            "Socket errors: connect 0, read 3, write 0, timeout 1",
        ),
    ],
)
def test_a_run_with_failures_is_refused(line: str, reason: str) -> None:
    with pytest.raises(Problem, match=f"^{reason}$"):
        wrk.metrics(REPORT.replace("Requests/sec", f"{line}Requests/sec"))


def test_nothing_measured_is_no_figure() -> None:
    with pytest.raises(Problem, match=r"wrk measured nothing: .*"):
        wrk.metrics("unable to connect to nginx:8000 Connection refused\nGenerator: 0.001 0.002\n")
    with pytest.raises(Problem, match="wrk measured nothing"):
        wrk.metrics(REPORT.replace("920 requests", "0 requests"))
