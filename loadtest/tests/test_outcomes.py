"""The outcome at each tier, from a Cache-Status."""

import pytest

from caches import outcomes
from caches.cache_status import parse

TIERS = ("client", "nginx", "varnish", "backend")
# Fields as varnish/cache_status.vcl and nginx/logging/outcome.conf write them -> the outcome at each tier.
OUTCOMES = {
    "varnish; hit; ttl=43190": "hit - hit -",
    "varnish; hit; ttl=43190, nginx; fwd=bypass": "hit pass hit -",
    "varnish-2; hit; ttl=43190, nginx; fwd=bypass": "hit pass hit -",
    "varnish; hit; ttl=-3; detail=stale": "stale - stale -",
    "varnish; hit; ttl=-3": "stale - stale -",
    "varnish; fwd=uri-miss; stored; ttl=43200, nginx; fwd=stale": "miss miss miss miss",
    # A copy in nginx repeats what Varnish reported when it was stored; Varnish saw no request now.
    "varnish; fwd=uri-miss; stored; ttl=1, nginx; hit": "hit hit - -",
    "varnish; fwd=miss; detail=hit-for-miss": "hit-for-miss - hit-for-miss hit-for-miss",
    "varnish; fwd=bypass; detail=pass": "pass - pass pass",
    "varnish; fwd=method; detail=pass": "pass - pass pass",
    "varnish; fwd=uri-miss; detail=error": "error - error error",
    "varnish; detail=synth, nginx; fwd=bypass": "synth pass synth -",
    "nginx; detail=error": "error error - -",
    "nginx; fwd=bypass": "pass pass - pass",
    "": "none - - none",  # a topology without any cache
    "cdn; hit": "hit - - -",  # another cache on the path decides the outcome, but has no column
}


@pytest.mark.parametrize(("field", "expected"), OUTCOMES.items())
def test_cache_status_tells_what_each_tier_did(field: str, expected: str) -> None:
    found = outcomes.by_tier(parse(field), from_disk=False)
    assert " ".join(found.pop(tier, "-") for tier in TIERS) == expected
    assert not found


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
