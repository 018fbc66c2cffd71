"""A request as a tree: the order of its spans, and their times according to the three logs."""

import pytest

from logs.serverlogs import Line, backend_lines
from logs.spans import Span, lines, tree
from logs.varnishlog import requests

ID = "6a05b1a18a71752b342d7240ec65bac5"
RESTARTED = f"""\
*   << Request  >> 10
-   Begin          req 9 rxreq
-   Timestamp      Start: 1000.010 0.000 0.000
-   ReqMethod      GET
-   ReqURL         /stages/
-   ReqHeader      X-Request-Id: {ID}
-   VCL_call       MISS
-   Timestamp      Waitinglist: 1000.040 0.030 0.030
-   Link           bereq 11 fetch
-   Link           req 13 restart
**  << BeReq    >> 11
--  Begin          bereq 10 fetch
--  Timestamp      Start: 1000.041 0.000 0.000
--  FetchError     HTC closed
--  Timestamp      Error: 1000.050 0.009 0.009
--  Link           bereq 12 retry
*** << BeReq    >> 12
--- Begin          bereq 11 retry
--- Timestamp      Start: 1000.051 0.000 0.000
--- BerespStatus   503
--- Timestamp      BerespBody: 1000.061 0.010 0.010
**  << Request  >> 13
--  Begin          req 10 restart
--  Timestamp      Start: 1000.062 0.000 0.000
--  Hit            5 -7.5 86400 3600
--  VCL_call       HIT
--  RespStatus     200
--  Timestamp      Resp: 1000.070 0.008 0.008
--  Link           bereq 14 bgfetch
*** << BeReq    >> 14
--- Begin          bereq 13 bgfetch
--- Timestamp      Start: 1000.063 0.000 0.000
--- BerespStatus   304
--- Timestamp      BerespBody: 1000.200 0.137 0.137
"""
BACKEND = (
    '{"time": "1970-01-01T00:16:40.190Z", "event": "request", "method": "GET", "path": "/stages/",'
    f' "status": 304, "bytes": 0, "ms": 120.0, "request_id": "{ID}", "parent": "0000000000000014",'
    ' "steps": {"queue": [1.0, 21.0], "database": [30.0, 90.0]}}'
)


def nginx(**fields: object) -> Line:
    known = {"host": "localhost", "answered": "varnish:stale", "seconds": 0.080, "ended": 1000.080}
    return Line("GET", "/stages/?x", 200, 9, ID, **known | fields)  # type: ignore[arg-type]


def shape(root: Span) -> list[tuple[int, str, int, int]]:
    """Return depth, name, and beginning and end in whole milliseconds after the root's beginning."""
    return [
        (
            depth,
            f"{span.service} {span.name}",
            round((span.began - root.began) * 1e3),
            round((span.ended - root.began) * 1e3),
        )
        for depth, span in root.walk()
    ]


@pytest.fixture
def restarted() -> Span:
    return tree(nginx(), requests(RESTARTED.splitlines()), backend_lines([BACKEND]))


def test_what_one_caused_stands_below_it(restarted: Span) -> None:
    assert shape(restarted) == [
        (0, "nginx GET", 0, 80),
        (1, "varnish stale", 10, 70),
        (2, "varnish wait", 10, 40),
        (2, "varnish fetch", 41, 50),
        (3, "varnish fetch again", 51, 61),
        (2, "varnish restart", 62, 70),
        (3, "varnish fetch in the background: not modified", 63, 200),
        (4, "backend page", 70, 190),
        (5, "backend queue", 71, 91),
        (5, "backend database", 100, 160),
    ]
    assert [span.name for _, span in restarted.walk() if span.failed] == ["fetch", "fetch again"]
    assert [span.ended for _, span in restarted.walk() if span.behind] == [1000.2]
    assert restarted.spans[0].facts["proscenium.why"] == "expired 8 s ago; fetched in the background"


def test_no_two_spans_have_the_same_id(restarted: Span) -> None:
    ids = [span.id for _, span in restarted.walk()]
    assert len(set(ids)) == len(ids)
    assert all(len(id) == 16 and int(id, 16) for id in ids)


@pytest.mark.parametrize(
    ("answered", "status", "found"),
    [
        ("nginx:hit", 200, ["GET"]),
        ("nginx:error", 503, ["GET"]),
        ("backend:none", 200, ["GET", "page", "queue", "database"]),
    ],
)
def test_a_request_without_varnish(answered: str, status: int, found: list[str]) -> None:
    line = nginx(answered=answered, span="0000000000000014")
    backend = backend_lines([BACKEND] if "backend" in answered else [])
    root = tree(Line(**vars(line) | {"status": status}), [], backend)
    assert [span.name for _, span in root.walk()] == found
    assert root.failed == (status == 503)


def test_a_page_that_is_another_requests_is_left_out() -> None:
    """A trace may contain several requests to nginx; `make trace` does not know their spans."""
    assert tree(nginx(span="00000000000000aa"), [], backend_lines([BACKEND])).spans == []
    assert len(tree(nginx(), [], backend_lines([BACKEND])).spans) == 1


def test_the_bars_are_on_one_scale(restarted: Span) -> None:
    drawn = [line for line in lines(restarted) if line.endswith(" ms")]
    assert drawn[0].startswith("nginx GET ")
    assert drawn[0].endswith(f"{'█' * 16:<40}       0.0     80.0 ms")
    assert drawn[3].startswith("    varnish fetch (failed) ")
    assert drawn[6].endswith(f"{' ' * 13 + '░' * 27}      63.0    137.0 ms")
