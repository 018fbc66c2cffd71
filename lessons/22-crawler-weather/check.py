"""What a crawler invents is dropped: its requests share people's copies, and newcomers are served again."""

import secrets

from lessons.checking import Ask, Laboratory, Need, Probe, Request, outcomes

LEAST = 100  # the fewest requests of a crawl


def check(lab: Laboratory, need: Need) -> None:
    """Check people beside a crawl under the shipped rules; the changed rule; people beside another crawl."""
    asked = lab.requests("/slow")
    crawl = [request for request in asked if "trail-" in request.url]
    people = [request for request in asked if "trail-" not in request.url]
    refused = [request for request in crawl if request.outcome == "error"]
    need(len(refused) >= LEAST, "no-crawl", len(crawl), len(refused))
    newcomers = [one for one in beside(refused, people) if not one.header("Cookie")]
    need(any(one.outcome == "error" for one in newcomers), "no-newcomer")
    known = [one for one in beside(refused, people) if one.header("Cookie") == "upstage_seen=1"]
    need(any(served(one) for one in known), "no-visitor")

    need(lab.changed("varnish/queries.vcl"), "shipped")
    page, crawled, first, plain = lab.ask(
        *(Ask("/stages/?a-NEW"), Ask(f"/stages/?a-NEW&{trail()}")),
        *(Ask(f"/stages/?{trail()}&z-NEW"), Ask("/stages/?z-NEW")),
    )
    need(copies(page, crawled) == copies(first, plain) == 1, "not-shared", crawled.outcome, plain.outcome)
    (alone,) = lab.ask(Ask(f"/stages/NEW?{trail()}"))
    need(not alone.url_sent_on.endswith("?"), "question-mark", alone.url_sent_on)
    words = [f"/stages/?{name}-NEW-{number}" for name in ("contrail", "trailer", "page") for number in (1, 2)]
    lost = [probe.ask.url for probe in lab.ask(*map(Ask, words)) if probe.outcome != "miss"]
    need(not lost, "other-words", *lost[:1])
    kept = lab.ask(
        *[Ask(f"{path}?{trail()}&NEW") for path in ("/media/fox.svg", "/style/main.css", "/admin/")],
        Ask(f"/stages/?{trail()}&NEW", method="POST"),
    )
    lost = [f"{probe.ask.method} {probe.ask.url}" for probe in kept if "trail-" not in probe.url_sent_on]
    need(not lost, "elsewhere", *lost[:1])
    private = ({"Cookie": "session=me"}, {"Authorization": "Basic eDp5"})
    personal = lab.ask(*[Ask(f"/stages/?NEW&{trail()}", headers=header) for header in private])
    need(outcomes(personal) == ["pass", "pass"], "private")
    (visitor,) = lab.ask(Ask("/stages/?k-NEW", headers={"Cookie": "upstage_seen=1"}))
    need(page.sent_on("X-Anonymous") and not visitor.sent_on("X-Anonymous"), "lane")

    hits = [request for request in lab.under_this_vcl(crawl) if request.outcome in ("hit", "stale")]
    need(len(hits) >= LEAST, "crawl-again", len(hits))
    newcomers = [one for one in beside(hits, people) if not one.header("Cookie")]
    need(any(served(one) for one in newcomers), "newcomer-again")


def trail() -> str:
    """Return a word like those that the crawler invents."""
    return f"trail-{secrets.token_hex(4)}"


def beside(crawl: list[Request], people: list[Request]) -> list[Request]:
    """Return the people's requests that arrived within a second of a request of the crawl."""
    return [one for one in people if any(abs(one.began - other.began) < 1 for other in crawl)]


def served(request: Request) -> bool:
    """Return whether a request got a page that no cache had."""
    return request.outcome == "miss" and request.status == 200


def copies(*probes: Probe) -> int:
    """Return the number of different cached objects that were served."""
    return len({probe.seen.object for probe in probes if probe.seen})
