"""A harmless cookie is removed for one path; every other cookie still makes the response private."""

import re

from checking import Ask, Attempt, Choice, Question, outcomes, secret_cookie, secret_word

CHANGES = {"varnish/normalise.vcl", "varnish/passed.vcl", "varnish/media.vcl"}
READS = {"req.http.cookie"}

QUESTION = Question(
    right=Choice(
        "Every visitor saw the name of the first one.",
        "The response to a request with a cookie was stored, and every client got it.",
    ),
    wrong=(
        Choice(
            "Every visitor saw the right name, in a separate copy.",
            "The key of an object is host and URL, never the cookie.",
        ),
        Choice(
            "Every visitor saw the right name, on a page that was not stored.",
            "What a lookup does not find is fetched and stored. Set-Cookie prevents that, but the response "
            "to a request with a cookie seldom has one.",
        ),
        Choice(
            "Every visitor saw the page without a name.",
            "The cookie still went to the backend: what all shared was the page that it made for one.",
        ),
    ),
)


def stages(cookie: str) -> Ask:
    """The page with the list of stages, requested with a cookie."""
    return Ask("/stages/?NEW", headers={"Cookie": cookie})


def check(attempt: Attempt) -> None:
    """Check the learner's requests, then the rule's effect on cookies that it must not remove."""
    need = attempt.need

    themes = {request.header("Cookie") for request in attempt.requests("/stages/")}
    need(
        len(themes) > 1,
        "Request /stages/?WORD with at least two values of the cookie: theme=dark, theme=light.",
    )

    first, second = attempt.ask(stages("theme=A"), stages("theme=B"))
    need(first.outcome != "pass", "A request with theme=A is still a pass: no rule removes the cookie.")
    need(
        (first.outcome, second.outcome) == ("miss", "hit") and len(second.backend) == 1,
        "theme=A and theme=B must share one object. They got "
        f"{first.outcome} and {second.outcome}: does the cache key contain the cookie?",
    )

    other = secret_word()
    private = [
        *attempt.ask(stages(f"theme=A; {other}=me"), stages(f"{secret_cookie()}=me; theme=A")),
        *attempt.ask(
            stages(f"theme=A; {secret_cookie()}=x"),
            Ask("/stages/", headers={"Cookie": f"theme=A; {other}=me"}),  # as visitors do: without a query
        ),
    ]
    need(
        set(outcomes(private)) == {"pass"},
        f"{other}=me came from the cache: the rule must remove the cookie theme and leave all others.",
    )
    need(
        all(re.match(r"(?!(.*;\s*)?theme=).*=", probe.sent_on("Cookie")) for probe in private),
        "The other cookies must reach the backend, without theme.",
    )
    others = attempt.ask(
        Ask("/stages/?NEW", headers={"Authorization": "Basic eDp5"}),
        Ask("/stages/?NEW", method="POST", headers={"Cookie": "theme=A"}),
        Ask("/admin/?NEW", headers={"Cookie": "theme=A"}),
    )
    need(
        outcomes(others) == ["pass"] * 3,
        "A request with a password, a POST and the workshop must still be passes: does the rule return from "
        "vcl_recv, so that the built-in checks no longer run?",
    )
    (page,) = attempt.ask(Ask("/?NEW", headers={"Cookie": "theme=A"}))
    need(page.outcome == "pass", "The rule is for /stages/ only: the front page must still pass the cookie.")
