"""A page is served stale for three seconds, with a fetch in the background, and no longer."""

from itertools import pairwise

from checking import Ask, Attempt, Choice, Question

CHANGES = {"varnish/stale.vcl"}

QUESTION = Question(
    right=Choice(
        "Before it none, after it all.",
        "After 5 s, a copy that was fresh for one second has been expired for 4: within 10, beyond 3.",
    ),
    wrong=(
        Choice("Before it all, after it none.", "A shorter grace means more waiting, not less."),
        Choice("Before it none, after it none.", "With 3 s, a copy that expired 4 s ago may not be used."),
        Choice("Before it all, after it all.", "With 10 s, a copy that expired 4 s ago is served at once."),
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
    changed = attempt.newly_set("stale.vcl")
    need(
        not any(name.startswith("beresp") for name in changed),
        "beresp.ttl and beresp.grace say how long a copy is fresh and how long it is kept, also for when the "
        "backend fails. They stay; change the 10 s of obj.ttl.",
    )
    need(
        "set req.grace = 86400s;" not in gone,
        "The 24 h are for a backend that fails. They stay; change the 10 s.",
    )
    need(
        len(gone) == 1 and "obj.ttl" in gone[0] and not changed,
        f"Only the 10 s of the healthy backend should change, to 3 s. New: {new}, gone: {gone}.",
    )

    (first,) = attempt.ask(Ask("/stages/demo?NEW"))  # fresh for one second
    for expired, wanted, wrong in (
        (
            1.7,
            "stale",
            "If no expired copy will do, clients wait for each new page. The lesson asks for 3 s.",
        ),
        (4.2, "miss", "A copy that expired four seconds ago was served; the lesson asks for 3 s."),
    ):
        attempt.wait(1 + expired)
        (probe,) = attempt.ask(Ask(first.ask.url))
        need(probe.outcome == wanted, wrong)

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
