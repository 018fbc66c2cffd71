"""A 404 is stored for ten seconds: one request instead of forty, and no copy after the ten seconds."""

import re
from collections import Counter

from checking import Ask, Attempt, Choice, Question

CHANGES = {"varnish/store.vcl"}
CHANGED_RULES = {
    "media are also known by their ending; a 404 is not stored",
    "`/administrator` is not under `/admin/`",
    "a missing file is not stored",
}

QUESTION = Question(
    right=Choice(
        "They could not share a response that is not stored.",
        "Waiting would serve them one after another, each with its own fetch in the end.",
    ),
    wrong=(
        Choice("A 404 is too small to be worth waiting for.", "Size plays no part in it."),
        Choice(
            "The backend answers a 404 faster than a 200.",
            "Varnish cannot know that before the response arrives.",
        ),
        Choice("Only GET requests wait, and these were HEAD.", "curl without -I sends GET."),
    ),
)

ONLY_404 = "Only 200 and 404 may be stored, {what}. Compare beresp.status with 404, and with nothing else."


def check(attempt: Attempt) -> None:
    """What the learner saw before and after; then how long a 404 lives, and that nothing else is stored."""
    need = attempt.need

    asked = attempt.requests("/media/")
    before = [request for request in asked if request.outcome == "hit-for-miss"]
    need(
        len(before) >= 20,
        "Request /media/WORD.png forty times at once under the shipped rules, before you change them.",
    )
    gone, new = attempt.changed("store.vcl")
    need(
        gone or new,
        "varnish/store.vcl in use is the shipped one: no 404 is stored. Change it, then make reload.",
    )
    code = re.sub(r"set beresp\.status = \S+", "", " ".join(new))
    compared = re.findall(r"beresp\.status ([!=]=) (?:200|404)\b", code)
    need(
        len(compared) == code.count("beresp.status"),
        ONLY_404.format(what="but the new rule compares beresp.status in another way"),
    )

    *herd, redirect, again = attempt.ask(
        *[Ask("/media/NEW.png")] * 20, Ask("/stages?NEW"), Ask("/stages?NEW"), at_once=True
    )
    need(
        {probe.answer.status for probe in herd} == {404},
        "A missing file must still be a 404 for its client, whatever is stored.",
    )
    fetched = len(herd[0].backend)
    need(
        1 <= fetched <= 2,
        f"Twenty requests for a missing file reached the backend {fetched} times; one is enough.",
    )
    lifetime, grace = max((probe.seen.lifetime, probe.seen.grace) for probe in herd if probe.seen)
    need(
        lifetime == 10,
        f"A 404 is kept for {lifetime} s; the lesson asks for 10. A file that is uploaded meanwhile stays "
        "invisible as well.",
    )
    need(
        grace == 0,
        f"After its 10 s a 404 may be served as a stale copy for {grace} s more, and a file that is "
        "uploaded meanwhile stays invisible. Set beresp.grace = 0s for a 404, below the line with 24h.",
    )
    need(
        not redirect.lifetime and not again.lifetime,
        ONLY_404.format(what="but the redirect of /stages is stored too"),
    )

    lines = Counter(line.url for line in attempt.nginx("/media/"))  # nginx answers some of them itself
    hits = [
        request
        for request in attempt.under_this_vcl(asked)
        if request.outcome == "hit" and lines[request.url] >= 20
    ]
    need(hits, "Now forty at once with a name that was not requested before: /media/WORD-again.png")
    need(
        any(
            late.url == hit.url and late.outcome == "miss" and late.after(hit)
            for late in asked
            for hit in hits
        ),
        "Wait until the ten seconds are over, then request the second name once more: which server answers?",
    )
