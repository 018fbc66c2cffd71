"""A miss, then a hit on the object that the miss stored; two passes that store nothing."""

from lessons.checking import Laboratory, Need


def check(lab: Laboratory, need: Need) -> None:
    """Require a hit on what a miss stored, two keys from the backend, and a miss and a hit of /slow."""
    fox = lab.requests("/media/fox.svg")
    elsewhere = lab.other_hosts("/media/fox.svg")
    need(fox or not elsewhere, "elsewhere", elsewhere)
    need(fox, "not-requested")
    urls = {request.url for request in fox}
    hits = [request for request in fox if request.outcome == "hit"]
    need(hits or len(urls) == 1, "different-urls")
    need(hits, "one-miss")
    stored = {request.object for request in fox if request.outcome == "miss"}
    need(stored & {hit.object for hit in hits}, "another-copy")
    asked = len(lab.fetched(fox))
    need(asked == len(urls), "no-cache", asked, len(urls))

    keys = lab.requests("/admin/id")
    need(keys, "no-key")
    need(len(keys) > 1, "one-key")
    need(len(lab.fetched(keys)) == len(keys), "key-not-fetched")

    slow = lab.requests("/slow")
    need({"miss", "hit"} <= {request.outcome for request in slow}, "slow")
