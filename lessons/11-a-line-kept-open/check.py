"""Thirty requests over thirty connections, then over a few; and one that came over HTTP/2."""

from checking import Ask, Attempt, Choice, Question

HOST = "classic.localhost"
CHANGES = {"nginx/sites/classic.conf"}

QUESTION = Question(
    right=Choice(
        "nginx keeps none open without an upstream block.",
        "An address in a variable is resolved and connected to for each request.",
    ),
    wrong=(
        Choice("Varnish closes the connection after each response.", "It keeps it for 65 s (timeout_idle)."),
        Choice(
            "HTTP/1.1 keeps none open unless a header asks for it.",
            "That was HTTP/1.0. In 1.1 it is the default.",
        ),
        Choice(
            "curl opened thirty, and nginx opens one for each of them.",
            "It need not: what a client has opened says nothing about nginx's own connections.",
        ),
    ),
)
NUMBER = 30


def check(attempt: Attempt) -> None:
    """The learner's thirty, the check's thirty, HTTP/2."""
    need = attempt.need

    asked = attempt.requests("/media/", HOST)
    need(
        asked or not attempt.requests("/media/"),
        f"You asked localhost, whose connections nginx already keeps. The lesson is about {HOST}.",
    )
    need(len(asked) >= NUMBER, f"Thirty requests for /media/fox.svg?WORD-1, -2 ... on {HOST} first.")
    before = asked[:NUMBER]
    need(
        len({request.connection for request in before}) > 25,
        "The first thirty were not thirty connections: begin again, with the shipped files.",
    )

    probes = attempt.ask(*[Ask(f"/media/fox.svg?NEW-{number}", HOST) for number in range(NUMBER)])
    seen = [probe.seen for probe in probes if probe.seen]
    need(
        len(seen) == NUMBER,
        f"Varnish has seen {len(seen)} of thirty requests on {HOST}: they must still reach it.",
    )
    used = len({request.connection for request in seen})
    versions = {request.client.first("ReqProtocol") for request in seen}
    need(
        used < 10,
        f"Thirty requests take nginx {used} connections to Varnish, with {' and '.join(sorted(versions))}. "
        "The aim is fewer than ten.",
    )
    after = asked[NUMBER:][-NUMBER:]
    need(
        len(after) == NUMBER and len({request.connection for request in after}) < 10,
        "nginx now keeps its connections, "
        "but you have not seen it: repeat the thirty requests with new URLs.",
    )

    over_two = [
        line
        for line in attempt.nginx("/media/", known=True)
        if line.protocol == "HTTP/2.0" and line.status == 200
    ]
    need(over_two, "No request with your word has come over HTTP/2 yet (port 8443, curl --http2).")
