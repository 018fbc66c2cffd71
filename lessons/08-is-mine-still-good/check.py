"""A 304 from Varnish for an ETag that the client sent, one from the backend for an ETag that Varnish sent."""

from checking import Attempt, Choice, Question
from logs.varnishlog import Request

CHANGES = {"varnish/media.vcl"}
HOST = "classic.localhost"

QUESTION = Question(
    right=Choice(
        "In 1 Varnish, in 2 the backend.",
        "The server that is asked compares; the client that asks sends the ETag.",
    ),
    wrong=(
        Choice("In 1 curl, in 2 Varnish.", "They ask. The comparison is made where the answer is known."),
        Choice(
            "In 1 the backend, and in 2 as well.",
            "Its log has no line for 1: the copy in the cache has the ETag.",
        ),
        Choice("In 1 Varnish, and in 2 as well.", "In 2 Varnish only knows that its copy has expired."),
    ),
)


def check(attempt: Attempt) -> None:
    """The client's question, then the cache's; then the shipped file is back."""
    need = attempt.need

    asked = [request for request in attempt.requests("/media/", HOST) if request.header("If-None-Match")]
    need(
        asked or "static.localhost" not in attempt.other_hosts("/media/"),
        "static.localhost answers from nginx's disk: no cache has compared anything.",
    )
    need(
        asked,
        f"No request with If-None-Match has reached Varnish on {HOST} yet. On the other hosts it is not "
        "Varnish that compares.",
    )
    need(
        any(request.header("If-None-Match") != "*" for request in asked),
        "`*` matches anything. Send the ETag itself.",
    )
    need(
        any(request.status == 304 and request.outcome == "hit" and names(request) for request in asked),
        "None of your requests with If-None-Match was a 304 from a cached copy: is that its ETag?",
    )

    short = [request for request in attempt.requests("/media/") if request.lifetime == 2]
    need(
        short,
        "No picture was stored for 2 seconds: change varnish/media.vcl, make reload, ask, wait, ask again.",
    )
    need(
        any(line.status == 304 for line in attempt.fetched(short)),
        "The backend has not confirmed a copy yet (304): request the same URL again when its 2 seconds are "
        "over.",
    )
    need(attempt.as_shipped(), "Both have asked. Now bring the 12 hours back: make lesson RESET=1")


def names(request: Request) -> bool:
    """Whether If-None-Match has the object's own ETag; W/ makes no difference (RFC 9110, 13.1.2)."""
    etag = request.last.header("ETag", "RespHeader")  # the first of them: what VCL wrote comes later
    sent = request.header("If-None-Match").split(",")
    return etag.removeprefix("W/") in [one.strip().removeprefix("W/") for one in sent]
