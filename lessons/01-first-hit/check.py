"""A miss, then a hit on the object that it stored; two passes that store nothing."""

from checking import Attempt, Choice, Question

QUESTION = Question(
    right=Choice("43200 seconds.", "Age counts up, ttl counts down, and both are rounded down."),
    wrong=(
        Choice("43192 seconds.", "ttl is what is left now; 7 seconds ago it was more."),
        Choice("43199 seconds.", "Both numbers are rounded down, so a second is missing from their sum."),
        Choice(
            "129600 seconds.", "After 12 hours it may be served for 24 more, but stale: that is its grace."
        ),
    ),
)


def check(attempt: Attempt) -> None:
    """RFC 9111, section 4: when a stored response may be reused."""
    need = attempt.need

    fox = attempt.requests("/media/fox.svg")
    elsewhere = attempt.other_hosts("/media/fox.svg")
    need(
        fox or not elsewhere,
        f"You asked {elsewhere}. This lesson is about localhost, which has the cache to look at.",
    )
    need(fox, "You have not requested /media/fox.svg?WORD on localhost yet. The word belongs to the URL.")
    urls = {request.url for request in fox}
    hits = [request for request in fox if request.outcome == "hit"]
    need(
        hits or len(urls) == 1,
        "Different URLs are different objects, so each was a miss: request the same one twice.",
    )
    need(hits, "One request was a miss. Request the same URL again.")
    stored = {request.object for request in fox if request.outcome == "miss"}
    need(
        stored & {hit.object for hit in hits},
        "A hit on the copy that your first request stored is still missing.",
    )
    asked = len(attempt.fetched(fox))
    need(
        asked == len(urls),
        f"The backend was asked {asked} times for {len(urls)} URL: no cache was at work.",
    )

    keys = attempt.requests("/admin/id")
    need(keys, "Request /admin/id?WORD too: it is not cached.")
    need(len(keys) > 1, "Request /admin/id?WORD once more: how do you know that the second is not a hit?")
    need(
        len(attempt.fetched(keys)) == len(keys),
        "The backend must have been asked for each /admin/id. Is it running? make status",
    )

    slow = attempt.requests("/slow")
    need(
        {"miss", "hit"} <= {request.outcome for request in slow},
        "Request /slow?WORD twice, and compare the times.",
    )
