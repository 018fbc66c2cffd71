from collections.abc import Iterator
from typing import Any

import pytest

from visitors import outcomes
from visitors.cache_status import parse


@pytest.fixture(autouse=True)
def nothing_counted() -> Iterator[None]:
    outcomes.forget()
    yield
    outcomes.forget()


def counted(field: str) -> dict[str, str]:
    """What each tier is said to have done with one answer."""
    outcomes.saw("/media/a.svg", parse(field))
    assert set(outcomes.counts.values()) == {1}
    assert {row for row, _, _ in outcomes.counts} == {"/media/*.svg"}
    return {tier: outcome for _, tier, outcome in outcomes.counts}


# The fields as varnish/report.vcl and nginx/logging/outcome.conf write them.
@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("varnish; hit; ttl=43190", {"house": "hit", "varnish": "hit"}),
        ("varnish; hit; ttl=43190, nginx; fwd=bypass", {"house": "hit", "nginx": "pass", "varnish": "hit"}),
        ("varnish; hit; ttl=-3; detail=stale", {"house": "stale", "varnish": "stale"}),
        ("varnish; hit; ttl=-3", {"house": "stale", "varnish": "stale"}),
        (
            "varnish; fwd=uri-miss; stored; ttl=43200, nginx; fwd=stale",
            {"house": "miss", "nginx": "miss", "varnish": "miss", "backend": "miss"},
        ),
        # A copy in nginx says what Varnish did when it was stored: this time nobody has asked Varnish.
        ("varnish; fwd=uri-miss; stored; ttl=1, nginx; hit", {"house": "hit", "nginx": "hit"}),
        (
            "varnish; fwd=miss; detail=hit-for-miss",
            {"house": "hit-for-miss", "varnish": "hit-for-miss", "backend": "hit-for-miss"},
        ),
        ("varnish; fwd=bypass; detail=pass", {"house": "pass", "varnish": "pass", "backend": "pass"}),
        ("varnish; fwd=method; detail=pass", {"house": "pass", "varnish": "pass", "backend": "pass"}),
        ("varnish; fwd=uri-miss; detail=error", {"house": "error", "varnish": "error", "backend": "error"}),
        ("varnish; detail=synth, nginx; fwd=bypass", {"house": "synth", "nginx": "pass", "varnish": "synth"}),
        ("nginx; detail=error", {"house": "error", "nginx": "error"}),
        ("nginx; fwd=bypass", {"house": "pass", "nginx": "pass", "backend": "pass"}),
        # A topology without any cache.
        ("", {"house": "none", "backend": "none"}),
        # Somebody else's cache on the way has its part in the outcome, but no column.
        ("cdn; hit", {"house": "hit"}),
    ],
)
def test_what_each_tier_did(field: str, expected: dict[str, str]) -> None:
    assert counted(field) == expected


def test_what_nginx_has_on_its_disk_is_nothing_to_the_backend() -> None:
    outcomes.saw("/media/a.svg", [], from_disk=True)
    assert {(tier, said) for _, tier, said in outcomes.counts} == {("house", "none"), ("nginx", "none")}


def test_no_more_rows_than_a_table_can_show() -> None:
    for number in range(3 * outcomes.MOST_ROWS):
        outcomes.saw(f"/{number}", [])
    rows = {row for row, _, _ in outcomes.counts}
    assert len(rows) == outcomes.MOST_ROWS + 1
    assert outcomes.counts[outcomes.OTHER, "house", "none"] == 2 * outcomes.MOST_ROWS
    assert len(outcomes.rows) == outcomes.MOST_ROWS


def test_the_master_has_what_all_workers_counted_once_each() -> None:
    reports: list[dict[str, Any]] = []
    for _ in range(2):
        for path in ("/media/a.svg", "/media/b.svg", "/admin/id"):
            outcomes.saw(path, parse("varnish; hit"))
        reports.append({})
        outcomes.hand_over(reports[-1])
    reports.append({})
    outcomes.hand_over(reports[-1])  # nothing new
    assert not outcomes.counts
    for report in [*reports, {}]:  # and one of a worker that knows nothing of this
        outcomes.take_over(report)
    assert outcomes.counts["/media/*.svg", "varnish", "hit"] == 4
    assert outcomes.counts["/admin/id", "house", "hit"] == 2
    assert outcomes.counts.total() == 12


def test_many_workers_do_not_make_more_rows() -> None:
    for number in range(3 * outcomes.MOST_ROWS):
        outcomes.take_over({outcomes.KEY: [[f"/{number}", "house", "hit", 1]]})
    assert len(outcomes.counts) == outcomes.MOST_ROWS + 1
    assert outcomes.counts.total() == 3 * outcomes.MOST_ROWS
