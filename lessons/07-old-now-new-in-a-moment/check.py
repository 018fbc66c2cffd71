"""A page is served stale for three seconds, with a fetch in the background, and no longer."""

import re
from itertools import pairwise

from checking import Attempt, Choice, Question

CHANGES = {"varnish/stale.vcl"}

QUESTION = Question(
    right=Choice(
        "Before it none, after it all.",
        "After 5 s, a copy that was fresh for one second has been expired for 4: within 10, beyond 3.",
    ),
    wrong=(
        Choice("Before it all, after it none.", "A shorter grace means more waiting, not less."),
        Choice("None, before and after.", "With 3 s of grace a copy that expired 4 s ago may not be used."),
        Choice("The first visitor of each second.", "Only the request that finds no usable copy waits."),
    ),
)


def check(attempt: Attempt) -> None:
    """What the learner watched before, changed, and watched afterwards."""
    need = attempt.need

    watched = attempt.requests("/stages/demo")
    need(
        any(request.outcome == "stale" for request in watched),
        "Watch /stages/demo?WORD first, until you have seen a stale copy.",
    )
    gone, new = attempt.changed("stale.vcl")
    need(
        gone or new, "varnish/stale.vcl in use is the shipped one: change its 10 s to 3 s, then make reload."
    )
    rule = " ".join(new)  # durations are in seconds
    need(
        "beresp" not in rule,
        "beresp.ttl and beresp.grace say how long a copy is fresh and how long it is kept, also for when the "
        "backend fails. They stay; change the 10 s of obj.ttl.",
    )
    need(
        "set req.grace = 86400s;" not in gone,
        "The 24 h are for a backend that fails. They stay; change the 10 s.",
    )
    need(
        not re.search(r"obj\.ttl <=? (- )?0", rule),
        "If no expired copy will do, all clients wait for each new page. The lesson asks for 3 s.",
    )
    need(
        len(gone) == 1 and new == [gone[0].replace("obj.ttl < - 10s", "obj.ttl < - 3s")],
        f"Only the 10 s of the healthy backend should change, to 3 s. New: {new}, gone: {gone}.",
    )

    after = attempt.under_this_vcl(watched)
    refreshed = [
        request
        for request in after
        if request.outcome == "stale" and any(fetch.reason == "bgfetch" for fetch in request.fetches)
    ]
    need(
        len(refreshed) >= 3,
        "Watch the page under the new rule: three stale copies, each with a fetch in the background.",
    )
    need(
        any(
            late.outcome == "miss" and late.url == last.url and 4 < late.began - last.began < 11
            for last, late in pairwise(after)
        ),
        "Leave the page alone for six seconds, then request it once more: who waits now?",
    )
