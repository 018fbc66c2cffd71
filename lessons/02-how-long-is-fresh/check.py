"""The rule for media says 60 s; an older object keeps its 12 hours, and one stored since then has 60 s."""

from lessons.checking import Ask, Laboratory, Need


def check(lab: Laboratory, need: Need) -> None:
    """Check the old rule in the log, and the new one in the VCL in use."""
    asked = lab.requests("/media/")
    need(asked, "not-requested")
    need(lab.changed("varnish/media.vcl"), "shipped")
    for probe in lab.ask(Ask("/media/fox.svg?NEW"), Ask("/media/diva.svg?NEW")):
        need(probe.lifetime == 60, "not-60", probe.lifetime)

    before = [request for request in asked if request.lifetime == 43200]
    after = [request for request in asked if request.lifetime == 60]
    need(before, "begun-late")
    need(after, "not-seen")
    seen_again = [request for request in asked if request.outcome == "hit" and request.after(before[0])]
    need(seen_again, "old-url")

    (page,) = lab.ask(Ask("/stages/?NEW"))
    need(page.lifetime != 60, "pages")
