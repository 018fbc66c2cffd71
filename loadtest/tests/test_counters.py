"""The counts of a run, in one process and over several."""

from typing import Any

from locust import FastHttpUser, HttpUser, task

from caches import counters
from caches.counters import MAX_ROWS, OTHER, count, counts
from loadtest.tests.fake_site import FakeSite
from loadtest.tests.locust_library import run
from tests.support.origin import response


class Plain(HttpUser):
    """A class like those in Locust's first examples, not based on ours."""

    @task
    def look(self) -> None:
        self.client.get("/media/queen.svg")


class Fast(FastHttpUser):
    """The same class with Locust's other client, and a page that is missing."""

    @task
    def look(self) -> None:
        self.client.get("/media/queen.svg")
        self.client.get("/missing")


def test_the_responses_of_any_http_user_count_once(site: FakeSite) -> None:
    site.instead["/missing"] = response("gone", "404 Not Found", cache_status="varnish; fwd=bypass")
    result = run(site, Plain, Fast, users=2, until_rows={"/media/queen.svg": 6, "/missing": 2})
    for row, status in (("/media/queen.svg", "200"), ("/missing", "404")):
        assert counts[row, "status", status] == result.requests[row]
    assert counts["/media/queen.svg", "varnish", "hit"] >= 4
    assert counts["/missing", "backend", "pass"] == result.requests["/missing"]


def test_a_sample_without_a_response_does_not_count(site: FakeSite) -> None:
    counters.heard("stage join")
    site.close()
    run(site, Plain, Fast, users=2, until_rows={"/media/queen.svg": 2})
    assert not counts


def test_a_file_from_the_disk_of_nginx_is_recognised_by_server_timing() -> None:
    count("/media/*.svg", "", 'nginx;desc="disk";dur=1')
    count("/stages/demo", "", 'nginx;desc="pass";dur=1')
    count("/media/*.gif", "varnish; fwd=miss", 'nginx;desc="disk";dur=1')
    assert {row: tier for row, tier, _ in counts if tier in ("nginx", "backend")} == {
        "/media/*.svg": "nginx",
        "/stages/demo": "backend",
        "/media/*.gif": "backend",
    }


def test_the_number_of_rows_is_limited() -> None:
    for number in range(3 * MAX_ROWS):
        count(f"/{number}", "")
    assert len({row for row, _, _ in counts}) == MAX_ROWS + 1
    assert counts[OTHER, "client", "none"] == 2 * MAX_ROWS


def test_the_master_has_the_counts_of_all_workers_once_each() -> None:
    reports: list[dict[str, Any]] = []
    for _ in range(2):
        for row in ("/media/*.svg", "/media/*.svg", "/admin/id"):
            count(row, "varnish; hit")
        reports.append({})
        counters.send(reports[-1])
    reports.append({})
    counters.send(reports[-1])  # nothing new
    assert not counts
    for report in [*reports, {}]:  # the last report is of a worker without counters
        counters.receive(report)
    assert counts["/media/*.svg", "varnish", "hit"] == 4
    assert counts["/admin/id", "client", "hit"] == 2
    assert counts.total() == 12
