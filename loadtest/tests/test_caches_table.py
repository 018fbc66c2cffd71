"""The rows of the tab "Caches" and the metrics of the backend."""

import json
from typing import Any

import pytest

from caches import metrics, table
from upstage.net.metrics import class_of

COUNTS = {
    ("/media/*.svg", "client", "hit"): 1999,
    ("/media/*.svg", "client", "miss"): 1,
    ("/media/*.svg", "nginx", "pass"): 2000,
    ("/media/*.svg", "varnish", "hit"): 1999,
    ("/media/*.svg", "varnish", "miss"): 1,
    ("/media/*.svg", "backend", "miss"): 1,
    ("/admin/id", "client", "pass"): 2000,
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


CRAWLED = {
    ("(crawlers) page", "client", "miss"): 900,
    ("(crawlers) media", "client", "hit"): 100,
    ("(crawlers) page", "backend", "miss"): 900,
}


def test_crawlers_have_one_row_with_their_shares_and_count_in_no_other() -> None:
    counts = {("/media/*.svg", "client", "hit"): 900, ("/admin/id", "client", "pass"): 100, **CRAWLED}
    rows = {row["name"]: row for row in table.rows(counts)}
    assert set(rows) == {"(all)", "(crawlers)", "/admin/id", "/media/*.svg"}
    assert (rows["(all)"]["answers"], rows["(all)"]["hits"], rows["(all)"]["backend"]) == (1000, 90.0, "")
    crawlers = rows["(crawlers)"]
    assert (crawlers["answers"], crawlers["hits"]) == ("1000 (50% of all)", "10.0 (90% of all misses)")
    assert crawlers["backend"] == f"miss{table.NO_BREAK}900"


def test_what_crawlers_asked_of_the_backend_is_seen() -> None:
    assert table.row_of_crawlers("/stages/demo?ref=1") == "(crawlers) stage"
    assert unreported(CRAWLED, {"page": 905, "media": 0}) == {("(unseen)", "unseen"): 5}


def test_csv_has_every_count_of_a_cache() -> None:
    lines = table.as_csv({**COUNTS, ("/admin/id", "status", "200"): 2000}).splitlines()
    assert lines[0] == "path,tier,hit,stale,miss,hit-for-miss,pass,synth,error,none,refresh,websocket,unseen"
    assert [line.split(",")[1] for line in lines[1:]] == [
        *("client", "varnish", "backend"),
        *("client", "nginx", "varnish", "backend"),
    ]
    assert lines[3:5] == [
        "/admin/id,backend,0,0,0,0,2000,0,0,0,0,0,0",
        "/media/*.svg,client,1999,0,1,0,0,0,0,0,0,0,0",
    ]


STALE = {
    ("/stages/demo", "client", "stale"): 9,
    ("/stages/demo", "varnish", "stale"): 9,
    ("/stages/demo", "varnish", "miss"): 1,
    ("/stages/demo", "backend", "miss"): 1,
    ("/admin/id", "backend", "pass"): 4,
}


def unreported(counts: table.Counts, asked: dict[str, int]) -> dict[tuple[str, str], int]:
    """Return the requests that only the backend reports: (row, reason) -> number."""
    whole = table.complete(counts, asked)
    return {(row, said): count for (row, tier, said), count in whole.items() if said in table.UNREPORTED}


def test_the_backends_column_adds_up_to_its_requests() -> None:
    asked = {"stage": 7, "admin": 4, "websocket": 3, "media": 2}
    whole = table.complete(STALE, asked)
    assert sum(count for (_, tier, _), count in whole.items() if tier == "backend") == sum(asked.values())
    rows = {row["name"]: row["backend"] for row in with_spaces(table.rows(whole, ""))}
    assert rows["/stages/demo"] == "miss 1, refresh 6"
    assert rows["/ws"] == "websocket 3"
    assert rows["(unseen)"] == "unseen 2"
    assert rows["(all)"] == "miss 1, pass 4, refresh 6, websocket 3, unseen 2"


def test_there_are_no_more_refreshes_than_stale_responses() -> None:
    assert unreported(STALE, {"stage": 30}) == {("/stages/demo", "refresh"): 9, ("(unseen)", "unseen"): 20}


def test_a_refresh_has_its_own_row_if_two_rows_may_have_caused_it() -> None:
    counts = {**STALE, ("/stages/other", "varnish", "stale"): 2}
    assert unreported(counts, {"stage": 5}) == {("(refreshes)", "refresh"): 4}


@pytest.mark.parametrize("asked", [{}, {"stage": 1, "admin": 4}, {"stage": 0}])
def test_without_figures_nothing_is_added(asked: dict[str, int]) -> None:
    assert table.complete(STALE, asked) == STALE


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/media/video/*.jpg", "webcam"),
        ("/media/audio/*.mp3", "media"),
        ("/script/*.js", "asset"),
        ("/admin/id", "admin"),
        ("/stages/demo", "stage"),
        ("/", "page"),
    ],
)
def test_rows_have_the_classes_of_the_backend(path: str, kind: str) -> None:
    assert table.class_of(path) == kind
    assert class_of(path) == kind  # the backend's own function


TEXT = """# HELP upstage_http_request_seconds Time to answer
# TYPE upstage_http_request_seconds histogram
upstage_http_request_seconds_bucket{path="page",le="0.1"} 9.0
upstage_http_request_seconds_count{path="page",status="200"} 10.0
upstage_http_request_seconds_count{path="media with } and space",status="304"} 5.0
upstage_clients{role="player",transport="tcp"} 2.0
upstage_clients{role="audience",transport="websocket"} 40.0
process_cpu_seconds_total 1.25e+01
"""


def test_metrics_are_summed_over_their_labels() -> None:
    assert metrics.read(TEXT, at=3.0) == metrics.Metrics(
        3.0, {"page": 10, "media with } and space": 5}, 12.5, 42
    )


@pytest.mark.parametrize("text", ["", "<html>", TEXT.replace("process_cpu", "other")])
def test_missing_metrics_are_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="no metric"):
        metrics.read(text, at=0)


def test_rates_between_two_reports() -> None:
    first = metrics.Metrics(100.0, requests={"page": 10}, cpu=1.0, clients=3)
    later = metrics.Metrics(102.0, requests={"page": 30, "media": 5}, cpu=1.5, clients=7)
    assert metrics.rates(first, later) == {"requests_per_second": 12.5, "cpu_percent": 25.0, "clients": 7}
    assert metrics.rates(None, later) is None
    assert metrics.rates(later, later) is None


@pytest.mark.parametrize(
    ("known", "now", "expected"),
    [
        (None, {"page": 7}, {}),
        ({}, {"page": 7}, {"page": 7}),
        ({"page": 7, "media": 2}, {"page": 9, "media": 2, "admin": 1}, {"page": 2, "media": 0, "admin": 1}),
        # A restarted backend counts from 0.
        ({"page": 7, "media": 2}, {"page": 8}, {"page": 8}),
        ({"page": 7}, {"page": 3, "media": 1}, {"page": 3, "media": 1}),
    ],
)
def test_requests_between_two_reports(
    known: dict[str, float] | None, now: dict[str, float], expected: dict[str, int]
) -> None:
    assert metrics.since(known, now) == expected
