"""Locust's figures, as its page writes them (loadtest/web_ui/metrics.py)."""

from tests.soak.load import parse

TEXT = r"""locust_users 31
locust_running 1
locust_requests_total{method="GET",name="/media/*.mp3?\"quoted\""} 7
locust_failures_total{method="GET",name="/media/*.mp3?\"quoted\""} 0
locust_response_seconds{method="GET",name="/media/*.mp3?\"quoted\"",quantile="0.5"} 0.5
locust_requests_total{method="GET",name="/stages/load"} 30
locust_failures_total{method="GET",name="/stages/load"} 1
locust_response_seconds{method="GET",name="/stages/load",quantile="0.5"} 0.03
locust_response_seconds{method="GET",name="/stages/load",quantile="0.95"} 0.04
locust_response_seconds{method="GET",name="/stages/load",quantile="0.99"} 0.5
locust_requests_total{method="ws",name="heard"} 200
locust_failures_total{method="ws",name="heard"} 2
locust_response_seconds{method="ws",name="heard",quantile="0.5"} 0.005
"""


def test_counts_are_added_up_and_times_are_those_of_the_known_rows() -> None:
    figures = parse(TEXT)
    assert (figures.users, figures.running) == (31, True)
    assert (figures.requests, figures.failures) == (237, 3)
    assert figures.times == {"p50": {"page": 30, "line heard, WebSocket": 5}, "p95": {"page": 40}}


def test_without_a_run_there_are_no_times() -> None:
    figures = parse("locust_users 0\nlocust_running 0\n")
    assert (figures.running, figures.requests, figures.times) == (False, 0, {"p50": {}, "p95": {}})
