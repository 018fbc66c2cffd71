"""The page is a hit for a minute, and the number in it is fetched every second."""

from lessons.checking import Ask, Laboratory, Need


def check(lab: Laboratory, need: Need) -> None:
    """Check that the learner saw the page before and after the change; and that the page is kept for a
    minute, and the number for a second.
    """
    asked = lab.requests("/playbill")
    need(asked, "not-requested")
    need(any(not page.parts for page in asked), "changed-first")
    assembled = [page for page in asked if page.parts]
    need(assembled, "not-assembled")
    need(any(page.outcome == "hit" for page in assembled), "seen-once")

    (first,) = lab.ask(Ask("/playbill?NEW"))
    need(first.seen and first.seen.parts, "whole")
    again = Ask(first.ask.url)
    lab.wait(1.5)
    lab.ask(again)  # gets the expired number, and triggers a fetch of it
    lab.wait(1.5)
    (later,) = lab.ask(again)
    need(later.outcome == "hit", "page-expired", later.outcome)
    need(first.response.body != later.response.body, "old-number")
    need("surrogate-control" not in later.response.headers, "header")
    (plain,) = lab.ask(Ask("/playbill", method="GET"))  # a request like a visitor's, without a query
    need(b"<esi:" not in plain.response.body, "without-query")
    (stages,) = lab.ask(Ask("/stages/?NEW"))
    filters = [fetch.first("Filters") for fetch in stages.seen.fetches] if stages.seen else ["esi"]
    need(not any("esi" in names for names in filters), "other-pages")
