"""Thirty requests over thirty connections, then over a few; one object in two sizes, compressed by Varnish,
then by nginx; finally, the shipped files are back.
"""

from collections.abc import Sequence

from lessons.checking import Laboratory, Need, Request

CLASSIC = "classic.localhost"
NUMBER = 30


def check(lab: Laboratory, need: Need) -> None:
    """Check the learner's requests before and after the change, and that the shipped files are back."""
    asked = lab.requests("/media/", CLASSIC)
    need(len(asked) >= NUMBER, "thirty", len(asked))
    need(connections(asked[:NUMBER]) > 25, "few-before")

    pictures = [request for request in lab.requests("/media/") if request.method == "GET"]
    fetched = [request for request in pictures if request.fetches]
    packed = {request.object for request in fetched if compressed(request)}
    small = [request for request in pictures if request.object in packed and accepts_gzip(request)]
    large = {request.object for request in pictures if request.object in packed and not accepts_gzip(request)}
    need(large & {request.object for request in small}, "one-object")

    later = asked[NUMBER:]
    need(len(later) >= NUMBER, "not-again", len(later))
    series = [later[first : first + NUMBER] for first in range(len(later) - NUMBER + 1)]
    best = min(series, key=connections)
    versions = {request.client.first("ReqProtocol") for request in best}
    need(connections(best) < 10, "too-many", connections(best), " and ".join(sorted(versions)))
    lines = [line for line in lab.nginx("/media/") if line.status == 200]
    need(any(line.protocol == "HTTP/2.0" for line in lines), "no-http2")

    # By URL, because Varnish does not see the requests that nginx answers from its one-second cache.
    least = {request.path: request.body_sent for request in small}
    packed_urls = {request.url for request in fetched if compressed(request)}
    plain = {one.url: one.body_sent for one in fetched if one.path in least and one.url not in packed_urls}
    need(plain, "each-time")
    sent = [line for line in lines if line.url in plain and line.host == "localhost"]
    sizes = [(one.bytes, least[one.path], plain[one.url]) for one in sent]
    need(any(0.7 * low < size < min(1.5 * low, high) for size, low, high in sizes), "as-it-was")
    need(lab.as_shipped(), "restore")


def connections(requests: Sequence[Request]) -> int:
    """Return the number of connections over which these requests arrived."""
    return len({request.connection for request in requests})


def compressed(request: Request) -> bool:
    """Return whether Varnish compressed the response that it fetched for this request."""
    return any(fetch.all("Gzip") for fetch in request.fetches)


def accepts_gzip(request: Request) -> bool:
    """Return whether the client can decompress gzip."""
    return "gzip" in request.header("Accept-Encoding")
