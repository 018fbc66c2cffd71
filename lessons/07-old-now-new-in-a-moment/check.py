"""A page is served stale for three seconds, with a fetch in the background, and no longer."""

import re
from itertools import pairwise

from lessons.checking import Ask, Laboratory, Need


def check(lab: Laboratory, need: Need) -> None:
    """Check the requests before the change, the change, and the requests after it."""
    watched = lab.requests("/stages/demo")
    need(any(request.outcome == "stale" for request in watched), "not-stale")
    need(lab.changed("starter/varnish/stale.vcl"), "shipped")
    rules = lab.evidence.loaded["starter/varnish/stale.vcl"]
    need(re.search(r"req\.grace *= *(24h|1d|1440m|86400s)", rules), "24-hours")

    (first,) = lab.ask(Ask("/stages/demo?NEW"))  # fresh for one second
    lab.wait(2.7)
    (stale,) = lab.ask(Ask(first.ask.url))
    need(stale.outcome == "stale", "none-stale")
    lab.wait(5.2)
    (late,) = lab.ask(Ask(first.ask.url))
    need(late.outcome == "miss", "too-old")

    after = lab.under_this_vcl(watched)
    old = [request for request in after if request.outcome == "stale"]
    need(sum(any(fetch.reason == "bgfetch" for fetch in one.fetches) for one in old) >= 3, "not-watched")
    left = [
        late for last, late in pairwise(after) if last.url == late.url and 4 < late.began - last.began < 11
    ]
    need(any(late.outcome == "miss" for late in left), "not-left-alone")
