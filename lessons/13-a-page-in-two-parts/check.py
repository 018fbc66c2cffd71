"""The page is a hit for a minute, and the number in it is fetched every second."""

from checking import Ask, Attempt, Choice, Question

CHANGES = {"varnish/store.vcl"}
READS = {"beresp.http.surrogate-control", "resp.http.surrogate-control"}

QUESTION = Question(
    right=Choice(
        "The page once, the number up to 60 times.", "Each part has its own lifetime: a minute and a second."
    ),
    wrong=(
        Choice("The page up to 60 times, the number once.", "The other way round."),
        Choice(
            "The page up to 60 times, the number as well.",
            "That was so before: a page as short-lived as its shortest part. Now each has its own lifetime.",
        ),
        Choice(
            "The page once, the number a thousand times.",
            "The number has a copy, too: one fetch serves all visitors of a second.",
        ),
    ),
)

PAGE = Ask("/playbill?NEW")


def check(attempt: Attempt) -> None:
    """The learner saw the page before and after; now the page is kept for a minute, the number for a
    second."""
    need = attempt.need

    asked = attempt.requests("/playbill")
    need(asked, "Request /playbill?WORD first, as it is shipped.")
    need(any(not page.parts for page in asked), "Look at the page before you change the rule.")
    assembled = [page for page in asked if page.parts]
    need(
        assembled,
        "No page with your word was assembled yet: turn ESI on, make reload, and use a new query, because "
        "the old copy stays as it was stored.",
    )
    need(
        any(page.outcome == "hit" for page in assembled),
        "You have seen the assembled page once. Request it again after two seconds: which part is new?",
    )

    (first,) = attempt.ask(PAGE)
    need(first.seen and first.seen.parts, "A page fetched now is not assembled.")
    again = Ask(first.ask.url)
    attempt.wait(1.5)
    attempt.ask(again)  # gets the expired number, and triggers a fetch
    attempt.wait(1.5)
    (later,) = attempt.ask(again)
    need(
        later.outcome == "hit",
        f"After three seconds the page was not a hit but {later.outcome}: it should be kept for a minute.",
    )
    need(first.answer.body != later.answer.body, "The number is as old as the page.")
    need(
        "surrogate-control" not in later.answer.headers,
        "The browser still gets Surrogate-Control, which is for the cache: unset it.",
    )
    (plain,) = attempt.ask(Ask("/playbill", method="GET"))  # as visitors do: without a query
    need(
        b"<esi:" not in plain.answer.body,
        "A visitor without a query gets the page with its instructions: it should be assembled for all.",
    )
    (stages,) = attempt.ask(Ask("/stages/?NEW"))
    need(
        stages.seen and not any("esi" in fetch.first("Filters") for fetch in stages.seen.fetches),
        "Varnish parses /stages/ for instructions too. Only pages with Surrogate-Control announce any.",
    )
