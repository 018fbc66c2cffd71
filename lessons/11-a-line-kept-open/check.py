"""Thirty requests over thirty connections, then over a few; and one that came over HTTP/2."""

from lessons.checking import Ask, Laboratory, Need

HOST = "classic.localhost"
NUMBER = 30


def check(lab: Laboratory, need: Need) -> None:
    """The learner's thirty, the check's thirty, HTTP/2."""
    asked = lab.requests("/media/", HOST)
    need(asked or not lab.requests("/media/"), "default-host")
    need(len(asked) >= NUMBER, "thirty")
    before = asked[:NUMBER]
    need(len({request.connection for request in before}) > 25, "few-before")

    probes = lab.ask(*[Ask(f"/media/fox.svg?NEW-{number}", HOST) for number in range(NUMBER)])
    seen = [probe.seen for probe in probes if probe.seen]
    need(len(seen) == NUMBER, "around-varnish", len(seen))
    used = len({request.connection for request in seen})
    versions = {request.client.first("ReqProtocol") for request in seen}
    need(used < 10, "too-many", used, " and ".join(sorted(versions)))
    after = asked[NUMBER:][-NUMBER:]
    need(len(after) == NUMBER and len({request.connection for request in after}) < 10, "not-seen")

    lines = [line for line in lab.nginx("/media/") if line.status == 200]
    need(any(line.protocol == "HTTP/2.0" for line in lines), "no-http2")
