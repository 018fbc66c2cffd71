"""What the tab shows, without Locust; that it is there is tested with real ones."""

import json
from typing import Any

import pytest

from cache_tab import metrics, table

COUNTS = {
    ("/media/*.svg", "house", "hit"): 1999,
    ("/media/*.svg", "house", "miss"): 1,
    ("/media/*.svg", "nginx", "pass"): 2000,
    ("/media/*.svg", "varnish", "hit"): 1999,
    ("/media/*.svg", "varnish", "miss"): 1,
    ("/media/*.svg", "backend", "miss"): 1,
    ("/admin/id", "house", "pass"): 2000,
    ("/admin/id", "varnish", "pass"): 2000,
    ("/admin/id", "backend", "pass"): 2000,
}


def with_spaces(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return json.loads(json.dumps(rows, ensure_ascii=False).replace(table.NO_BREAK, " "))  # type: ignore[no-any-return]


def test_a_row_for_each_path_and_one_for_all() -> None:
    rows = {row["name"]: row for row in with_spaces(table.rows(COUNTS, "12 requests/s"))}
    assert rows["/media/*.svg"] == {
        "name": "/media/*.svg",
        "answers": 2000,
        "hits": 100.0,
        "nginx": "pass 2000",
        "varnish": "hit 1999, miss 1",
        "backend": "miss 1",
    }
    assert (rows[table.ALL]["answers"], rows[table.ALL]["hits"]) == (4000, 50.0)
    assert rows[table.ALL]["backend"] == "miss 1, pass 2000"
    assert rows["(backend now)"]["backend"] == "12 requests/s"
    columns = {column["key"] for column in table.COLUMNS}
    assert all(set(row) == columns for row in rows.values())


def test_what_is_about_all_stands_on_top() -> None:
    names = sorted(row["name"] for row in table.rows(COUNTS, ""))
    assert names[:2] == [table.ALL, table.BACKEND]


def test_before_the_first_answer() -> None:
    rows = table.rows({}, "no figures: no run yet")
    assert [(row["name"], row["hits"]) for row in rows] == [(table.ALL, ""), (table.BACKEND, "")]


def test_csv_has_every_count() -> None:
    lines = table.as_csv(COUNTS).splitlines()
    assert lines[0] == "path,tier,hit,stale,miss,hit-for-miss,pass,synth,error,none"
    assert lines[1:] == [
        "/admin/id,house,0,0,0,0,2000,0,0,0",
        "/admin/id,varnish,0,0,0,0,2000,0,0,0",
        "/admin/id,backend,0,0,0,0,2000,0,0,0",
        "/media/*.svg,house,1999,0,1,0,0,0,0,0",
        "/media/*.svg,nginx,0,0,0,0,2000,0,0,0",
        "/media/*.svg,varnish,1999,0,1,0,0,0,0,0",
        "/media/*.svg,backend,0,0,1,0,0,0,0,0",
    ]


TEXT = """# HELP upstage_http_request_seconds Time to answer
# TYPE upstage_http_request_seconds histogram
upstage_http_request_seconds_bucket{kind="page",le="0.1"} 9.0
upstage_http_request_seconds_count{kind="page"} 10.0
upstage_http_request_seconds_count{kind="media with } and space"} 5.0
upstage_clients{door="tcp",kind="player"} 2.0
upstage_clients{door="ws",kind="audience"} 40.0
process_cpu_seconds_total 1.25e+01
"""


def test_metrics_are_summed_over_their_labels() -> None:
    assert metrics.read(TEXT, at=3.0) == metrics.Metrics(3.0, requests=15, cpu=12.5, clients=42)


@pytest.mark.parametrize("text", ["", "<html>", TEXT.replace("process_cpu", "other")])
def test_metrics_that_are_not_there(text: str) -> None:
    with pytest.raises(ValueError, match="no metric"):
        metrics.read(text, at=0)


def test_rates_between_two_readings() -> None:
    first = metrics.Metrics(100.0, requests=10, cpu=1.0, clients=3)
    later = metrics.Metrics(102.0, requests=35, cpu=1.5, clients=7)
    assert metrics.rates(first, later) == {"requests_per_second": 12.5, "cpu_percent": 25.0, "clients": 7}
    assert metrics.rates(None, later) is None
    assert metrics.rates(later, later) is None
