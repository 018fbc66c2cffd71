"""What ab prints, read; and what must not be reported."""

from typing import Any, cast

import pytest

from bench.house import House, Problem
from bench.tools import ab

FIRST = """\
Document Length:        5000 bytes

Concurrency Level:      1
Complete requests:      1
Failed requests:        0
"""
# Of ab 2.3, shortened.
MEASURED = """\
This is ApacheBench, Version 2.3 <$Revision: 1934973 $>
Document Path:          /f
Document Length:        5000 bytes

Concurrency Level:      4
Time taken for tests:   0.500 seconds
Complete requests:      400
Failed requests:        0
Keep-Alive requests:    396
Total transferred:      2080800 bytes
HTML transferred:       2000000 bytes
Requests per second:    800.00 [#/sec] (mean)
Time per request:       5.000 [ms] (mean)
Time per request:       1.250 [ms] (mean, across all concurrent requests)

Percentage of the requests served within a certain time (ms)
  50%      2
  99%     12
 100%     12 (longest request)
Generator: 0.050 0.150
Percentage served,Time in ms
0,0.834
50,2.125
95,9.500
99,12.498
100,13.000
"""


def read(first: str = FIRST, measured: str = MEASURED, expected: int | None = None) -> dict[str, float]:
    return ab.metrics(f"{first}=== measured\n{measured}", expected)


def test_metrics() -> None:
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
    ("old", "new", "words"),
    [
        ("Failed requests:        0", "Failed requests:        37", "37 of 400 requests failed"),
        ("Keep-Alive", "Non-2xx responses:      4\nKeep-Alive", "4 of 400 requests were not 2xx"),
        ("Length:        5000", "Length:        335", "5000 bytes at first, and then 335"),
        ("Time taken", "Time lost", "did not print"),
    ],
)
def test_what_is_refused(old: str, new: str, words: str) -> None:
    assert old in MEASURED
    with pytest.raises(Problem, match=words):
        read(measured=MEASURED.replace(old, new))


def test_a_wrong_first_answer_is_refused() -> None:
    with pytest.raises(Problem, match="not 2xx"):
        read(first=FIRST + "Non-2xx responses:      1\n")
    with pytest.raises(Problem, match="5000 bytes instead of 75000"):
        read(expected=75_000)


def test_a_percentile_of_too_few_requests_is_left_out() -> None:
    """ab reads behind its last sample then: the figure here is what it really printed."""
    few = MEASURED.replace("requests:      400", "requests:      40")
    figures = read(measured=few.replace("99,12.498", "99,7311156825131345.000"))
    assert "p99_milliseconds" not in figures
    assert figures["p95_milliseconds"] == 9.5


class Generator:
    """A house that remembers the command and answers with a good report."""

    def run(self, service: str, *command: str) -> str:
        assert service == "generator"
        self.command = command
        return f"{FIRST}=== measured\n{MEASURED}"


SETTINGS: dict[str, Any] = {
    "url": "http://nginx:8000",
    "path": "/media/bench/small.swf",
    "requests": 50000,
    "seconds": 1,
    "clients": 25,
    "keepalive": False,
}


def test_the_command() -> None:
    house = Generator()
    ab.measure(cast(House, house), SETTINGS)
    assert house.command[3:] == ("ab", "50000", "1", "25", "http://nginx:8000/media/bench/small.swf")
    more = {"host": "upstage.localhost", "keepalive": True, "headers": ["Cookie: a=b"]}
    ab.measure(cast(House, house), {**SETTINGS, **more})
    assert house.command[7:-1] == ("-k", "-H", "Cookie: a=b", "-H", "Host: upstage.localhost")
