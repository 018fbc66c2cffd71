"""A 404 is stored for ten seconds: one request where there were forty, and no copy after the ten seconds."""

from collections import Counter

from lessons.checking import Ask, Laboratory, Need


def check(lab: Laboratory, need: Need) -> None:
    """Check the learner's requests before and after the change, how long a 404 is stored, and that a redirect
    is not.
    """
    asked = lab.requests("/media/")
    before = [request for request in asked if request.outcome == "hit-for-miss"]
    need(len(before) >= 20, "forty")
    need(lab.changed("varnish/store.vcl"), "shipped")

    *herd, redirect, again = lab.ask(
        *[Ask("/media/NEW.png")] * 20, Ask("/stages?NEW"), Ask("/stages?NEW"), at_once=True
    )
    need({probe.response.status for probe in herd} == {404}, "not-404")
    fetched = len(herd[0].backend)
    need(1 <= fetched <= 2, "not-shared", fetched)
    lifetime, grace = max((probe.seen.lifetime, probe.seen.grace) for probe in herd if probe.seen)
    need(lifetime == 10, "too-long", lifetime)
    need(grace == 0, "grace", grace)
    need(not redirect.lifetime and not again.lifetime, "redirect")

    lines = Counter(line.url for line in lab.nginx("/media/"))  # nginx itself answers some of them
    hits = [hit for hit in lab.under_this_vcl(asked) if hit.outcome == "hit" and lines[hit.url] >= 20]
    need(hits, "forty-again")
    misses = [request for request in asked if request.outcome == "miss"]
    need(any(miss.url == hit.url and miss.after(hit) for miss in misses for hit in hits), "wait")
