"""One object for two sizes; then an object that Varnish did not compress and nginx did; then as shipped."""

from checking import Attempt, Choice, Question
from logs.varnishlog import Request

CHANGES = {"varnish/gzip.vcl", "nginx/sites/default.conf.template"}

QUESTION = Question(
    right=Choice("Once, and a thousand times.", "Varnish stores the result; nginx compresses each response."),
    wrong=(
        Choice("Once in both cases.", "nginx does not store what its gzip filter makes."),
        Choice("A thousand times, and once.", "The other way round."),
        Choice("A thousand times in both cases.", "Varnish compresses when it stores, not when it delivers."),
    ),
)


def check(attempt: Attempt) -> None:
    """Before the change, after it, and the shipped files back in place."""
    need = attempt.need

    asked = [request for request in attempt.requests("/media/") if request.method == "GET"]
    need(asked, "Request /media/diva.svg?WORD first, with GET: the response to a HEAD has no size.")
    fetched = [request for request in asked if request.fetches]
    packed = {request.object for request in fetched if compressed(request)}
    small = {request.object for request in asked if request.object in packed and accepts_gzip(request)}
    large = {request.object for request in asked if request.object in packed and not accepts_gzip(request)}
    need(
        small | large,
        "Varnish has compressed no picture with your word: is it text of 860 bytes or more, such as an SVG?",
    )
    need(small, "Request the picture with Accept-Encoding: gzip too. (br is another format.)")
    need(large, "Request the picture with Accept-Encoding: identity too.")
    need(small & large, "Different URLs are different objects: request one URL with both.")

    packed_urls = {request.url for request in fetched if compressed(request)}
    least = {
        request.path: request.body_sent
        for request in asked
        if request.object in small and accepts_gzip(request)
    }
    sizes = {
        request.url: request.body_sent
        for request in fetched
        if request.path in least and request.url not in packed_urls
    }
    need(
        sizes,
        "Varnish has compressed this picture with your word each time: change varnish/gzip.vcl, make reload, "
        "use ?WORD-2.",
    )
    need(  # by URL: Varnish does not see what nginx answers from its one-second cache
        any(
            line.host == "localhost"
            and line.status == 200
            and 0.7 * least[line.path] < line.bytes < min(1.5 * least[line.path], sizes[line.url])
            for line in attempt.nginx("/media/", known=True)
            if line.url in sizes
        ),
        "nginx has sent the copy that Varnish did not compress as it was: include "
        "caching/compression.conf in sites/default.conf.template, make reload, and accept gzip.",
    )
    need(
        attempt.as_shipped(),
        "nginx has compressed it. Now bring the shipped files back: make lesson RESET=1",
    )


def compressed(request: Request) -> bool:
    """Whether Varnish compressed what it fetched for this request."""
    return any(fetch.all("Gzip") for fetch in request.fetches)


def accepts_gzip(request: Request) -> bool:
    """Whether the client can decompress it."""
    return "gzip" in request.header("Accept-Encoding")
