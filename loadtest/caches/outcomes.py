"""The outcomes of a request at a cache, in the words of varnish/cache_status.vcl and nginx's Cache-Status."""

from collections.abc import Mapping

from caches.cache_status import Member

# "synth": a response that the cache generated (an error page, a redirect). "none": no Cache-Status.
OUTCOMES = ("hit", "stale", "miss", "hit-for-miss", "pass", "synth", "error", "none")
HITS = frozenset({"hit", "stale"})  # the cache had the response
# "client": the response as the client sees it, with the outcome at the cache that sent it.
# "backend": requests that reached the backend, with the outcome that made the cache forward them.
TIERS = ("client", "nginx", "varnish", "backend")


def outcome(member: Member) -> str:
    """Return the outcome at one cache, one of OUTCOMES."""
    detail = member.parameters.get("detail", "")
    if member.hit:
        return "stale" if detail == "stale" or member.parameters.get("ttl", "").startswith("-") else "hit"
    if detail in ("error", "synth", "hit-for-miss"):
        return detail
    forwarded = member.parameters.get("fwd")
    if forwarded is None:
        return "none"
    return "pass" if forwarded in ("bypass", "method") else "miss"


def by_tier(members: list[Member], from_disk: bool) -> dict[str, str]:
    """Return tier -> outcome of one response; `members` is its Cache-Status, nearest to the backend first.

    `from_disk`: no cache was asked, but nginx read the file. Tiers behind a hit are left out: their reports
    are as old as the stored copy.
    """
    tiers: dict[str, str] = {}
    said = "none"
    for member in reversed(members):
        said = outcome(member)
        tier = member.cache.partition("-")[0]  # varnish-2 is one of several Varnish caches (extras/ring)
        if tier in TIERS:
            tiers[tier] = said
        if "fwd" not in member.parameters:
            break
    else:
        tiers["nginx" if from_disk else "backend"] = said
    return {**tiers, "client": said}


def hit_ratio(responses: Mapping[str, int], failed: int = 0) -> float:
    """Return the share of responses that a cache had, 0 to 1. `responses`: outcome -> number, tier "client".

    `failed` of the responses do not count as hits, whichever cache sent them.
    """
    hits = sum(number for outcome, number in responses.items() if outcome in HITS)
    return max(0, hits - failed) / (sum(responses.values()) or 1)
