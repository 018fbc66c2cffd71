"""The outcome at each tier, from a Cache-Status."""

import pytest

from caches import outcomes
from caches.cache_status import parse


# The fields as varnish/cache_status.vcl and nginx/logging/outcome.conf write them.
@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("varnish; hit; ttl=43190", {"client": "hit", "varnish": "hit"}),
        ("varnish; hit; ttl=43190, nginx; fwd=bypass", {"client": "hit", "nginx": "pass", "varnish": "hit"}),
        (
            "varnish-2; hit; ttl=43190, nginx; fwd=bypass",
            {"client": "hit", "nginx": "pass", "varnish": "hit"},
        ),
        ("varnish; hit; ttl=-3; detail=stale", {"client": "stale", "varnish": "stale"}),
        ("varnish; hit; ttl=-3", {"client": "stale", "varnish": "stale"}),
        (
            "varnish; fwd=uri-miss; stored; ttl=43200, nginx; fwd=stale",
            {"client": "miss", "nginx": "miss", "varnish": "miss", "backend": "miss"},
        ),
        # A copy in nginx repeats what Varnish reported when it was stored; Varnish saw no request now.
        ("varnish; fwd=uri-miss; stored; ttl=1, nginx; hit", {"client": "hit", "nginx": "hit"}),
        (
            "varnish; fwd=miss; detail=hit-for-miss",
            {"client": "hit-for-miss", "varnish": "hit-for-miss", "backend": "hit-for-miss"},
        ),
        ("varnish; fwd=bypass; detail=pass", {"client": "pass", "varnish": "pass", "backend": "pass"}),
        ("varnish; fwd=method; detail=pass", {"client": "pass", "varnish": "pass", "backend": "pass"}),
        ("varnish; fwd=uri-miss; detail=error", {"client": "error", "varnish": "error", "backend": "error"}),
        (
            "varnish; detail=synth, nginx; fwd=bypass",
            {"client": "synth", "nginx": "pass", "varnish": "synth"},
        ),
        ("nginx; detail=error", {"client": "error", "nginx": "error"}),
        ("nginx; fwd=bypass", {"client": "pass", "nginx": "pass", "backend": "pass"}),
        # A topology without any cache.
        ("", {"client": "none", "backend": "none"}),
        # Another cache on the path decides the outcome, but has no column.
        ("cdn; hit", {"client": "hit"}),
    ],
)
def test_cache_status_tells_what_each_tier_did(field: str, expected: dict[str, str]) -> None:
    assert outcomes.by_tier(parse(field), from_disk=False) == expected


def test_a_file_that_nginx_served_did_not_reach_the_backend() -> None:
    assert outcomes.by_tier([], from_disk=True) == {"client": "none", "nginx": "none"}


@pytest.mark.parametrize(
    ("responses", "failed", "expected"),
    [
        ({"hit": 6, "stale": 2, "miss": 1, "pass": 1}, 0, 0.8),
        ({"hit": 6, "stale": 2, "miss": 1, "pass": 1}, 3, 0.5),
        ({"hit": 1, "miss": 1}, 5, 0.0),
        ({"none": 4}, 0, 0.0),
        ({}, 0, 0.0),
    ],
)
def test_the_hit_ratio_counts_fresh_and_stale_copies_but_no_failures(
    responses: dict[str, int], failed: int, expected: float
) -> None:
    assert outcomes.hit_ratio(responses, failed) == expected
