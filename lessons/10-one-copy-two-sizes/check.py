"""One object for two sizes; then an object that Varnish did not compress and nginx did; then as shipped."""

from lessons.checking import Laboratory, Need
from logs.varnishlog import Request


def check(lab: Laboratory, need: Need) -> None:
    """Before the change, after it, and the shipped files back in place."""
    asked = [request for request in lab.requests("/media/") if request.method == "GET"]
    need(asked, "not-requested")
    fetched = [request for request in asked if request.fetches]
    packed = {request.object for request in fetched if compressed(request)}
    small = {request.object for request in asked if request.object in packed and accepts_gzip(request)}
    large = {request.object for request in asked if request.object in packed and not accepts_gzip(request)}
    need(small | large, "not-compressed")
    need(small, "no-gzip")
    need(large, "no-identity")
    need(small & large, "different-urls")

    packed_urls = {request.url for request in fetched if compressed(request)}
    least = {one.path: one.body_sent for one in asked if one.object in small and accepts_gzip(one)}
    sizes = {one.url: one.body_sent for one in fetched if one.path in least and one.url not in packed_urls}
    need(sizes, "each-time")
    # By URL: Varnish does not see what nginx answers from its one-second cache.
    lines = [line for line in lab.nginx("/media/") if line.url in sizes and line.status == 200]
    bounds = [(line.bytes, least[line.path], sizes[line.url]) for line in lines if line.host == "localhost"]
    need(any(0.7 * low < sent < min(1.5 * low, high) for sent, low, high in bounds), "as-it-was")
    need(lab.as_shipped(), "restore")


def compressed(request: Request) -> bool:
    """Whether Varnish compressed what it fetched for this request."""
    return any(fetch.all("Gzip") for fetch in request.fetches)


def accepts_gzip(request: Request) -> bool:
    """Whether the client can decompress it."""
    return "gzip" in request.header("Accept-Encoding")
