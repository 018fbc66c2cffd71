"""The rule for media says 60 s, an older object keeps its 12 hours, and one stored since then has 60 s."""

from lessons.checking import Ask, Attempt, Need


def check(attempt: Attempt, need: Need) -> None:
    """The old rule from the log, the new one from the VCL in use."""
    asked = attempt.requests("/media/")
    need(asked, "not-requested")
    need(attempt.changed("varnish/media.vcl"), "shipped")
    for probe in attempt.ask(Ask("/media/fox.svg?NEW"), Ask("/media/diva.svg?NEW")):
        need(probe.lifetime == 60, "not-60", probe.lifetime)

    before = [request for request in asked if request.lifetime == 43200]
    after = [request for request in asked if request.lifetime == 60]
    need(before, "begun-late")
    need(after, "not-seen")
    seen_again = [request for request in asked if request.outcome == "hit" and request.after(before[0])]
    need(seen_again, "old-url")

    (page,) = attempt.ask(Ask("/stages/?NEW"))
    need(page.lifetime != 60, "pages")
