"""A 304 from Varnish for an ETag that the client sent; one from the backend for an ETag of Varnish's."""

from lessons.checking import Laboratory, Need
from logs.varnishlog import Request

HOST = "classic.localhost"


def check(lab: Laboratory, need: Need) -> None:
    """Check the client's conditional request, then the cache's; then that the shipped file is back."""
    asked = [request for request in lab.requests("/media/", HOST) if request.header("If-None-Match")]
    need(asked or "static.localhost" not in lab.other_hosts("/media/"), "static")
    need(asked, "not-asked")
    need(any(request.header("If-None-Match") != "*" for request in asked), "any")
    hits = [request for request in asked if request.outcome == "hit" and request.status == 304]
    need(any(names(hit) for hit in hits), "no-304")

    short = [request for request in lab.requests("/media/") if request.lifetime == 2]
    need(short, "not-2")
    need(any(line.status == 304 for line in lab.fetched(short)), "not-confirmed")
    need(lab.as_shipped(), "restore")


def names(request: Request) -> bool:
    """Return whether If-None-Match contains the object's ETag; W/ makes no difference (RFC 9110, 13.1.2)."""
    etag = request.last.header("ETag", "RespHeader")  # the first record: VCL's changes come later
    sent = request.header("If-None-Match").split(",")
    return etag.removeprefix("W/") in [one.strip().removeprefix("W/") for one in sent]
