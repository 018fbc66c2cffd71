"""Purges: the fox on both hosts, not the diva; then the diva, by its tag; a purge from outside is a 405."""

from lessons.checking import Laboratory, Need
from logs.varnishlog import Request

HOSTS = ("localhost", "classic.localhost")
TAG = "medium-diva-svg"


def check(lab: Laboratory, need: Need) -> None:
    """Check the four steps in order. The last purge of each kind counts, so a step can be repeated."""
    fox = {host: pictures(lab, "fox", host) for host in HOSTS}
    diva = {host: pictures(lab, "diva", host) for host in HOSTS}
    for host in HOSTS:
        need(fox[host], "no-fox", host)
        need(diva[host], "no-diva", host)

    # Purges by tag have no URL that could contain the word.
    purges = [purge for purge in lab.evidence.purges() if purge.began >= lab.began]
    inside = [purge for purge in purges if purge.client.first("ReqStart").endswith("purge")]
    of_fox = [purge.began for purge in inside if purge.path == "/media/fox.svg"]
    need(of_fox, "not-purged")
    for host in HOSTS:
        need(before(fox[host], of_fox[-1]) and before(diva[host], of_fox[-1]), "not-warm", host)
        again = after(fox[host], of_fox[-1])
        need(again, "fox-again", host)
        need(again[0].outcome == "miss", "fox-stayed", host, again[0].outcome)
        stayed = after(diva[host], of_fox[-1])
        need(stayed, "diva-again", host)
        stored = {request.object for request in before(diva[host], of_fox[-1])}
        need(stayed[0].object in stored, "diva-gone", host)

    outside = [purge for purge in purges if purge not in inside and lab.word in purge.url]
    need(outside, "not-outside", lab.evidence.http_port)
    need(outside[-1].status == 405, "allowed", outside[-1].status)

    tagged = [
        purge.began for purge in inside if purge.header("X-Cache-Tags") == TAG and purge.began > of_fox[-1]
    ]
    need(tagged, "no-tag")
    for host in HOSTS:
        again = after(diva[host], tagged[-1])
        need(again, "diva-last", host)
        need(again[0].outcome == "miss", "diva-stayed", host, again[0].outcome)


def pictures(lab: Laboratory, name: str, host: str) -> list[Request]:
    """Return the learner's requests for one of the pictures."""
    return [r for r in lab.requests(f"/media/{name}.svg", host) if r.method in ("GET", "HEAD")]


def before(requests: list[Request], time: float) -> list[Request]:
    """Return the requests that arrived before a time."""
    return [request for request in requests if request.began < time]


def after(requests: list[Request], time: float) -> list[Request]:
    """Return the requests that arrived after a time."""
    return [request for request in requests if request.began > time]
