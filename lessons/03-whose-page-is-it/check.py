"""A harmless cookie is removed for one path; every other cookie still makes the response private."""

import re

from lessons.checking import Ask, Laboratory, Need, outcomes


def stages(cookie: str) -> Ask:
    """Return a request for the page with the list of stages, with a cookie."""
    return Ask("/stages/?NEW", headers={"Cookie": cookie})


def check(lab: Laboratory, need: Need) -> None:
    """Check the learner's requests, then the rule's effect on cookies that it must not remove."""
    themes = {request.header("Cookie") for request in lab.requests("/stages/")}
    need(len(themes) > 1, "themes")

    first, second = lab.ask(stages("theme=A"), stages("theme=B"))
    need(first.outcome != "pass", "still-a-pass")
    shared = outcomes([first, second]) == ["miss", "hit"] and len(second.backend) == 1
    need(shared, "two-objects", first.outcome, second.outcome)

    private = lab.ask(stages("theme=A; who=me"), stages("session=me; theme=A"), stages("theme=A; mytheme=x"))
    need(set(outcomes(private)) == {"pass"}, "other-cookies")
    sent = [re.match(r"(?!(.*;\s*)?theme=).*=", probe.sent_on("Cookie")) for probe in private]
    need(all(sent), "cookies-lost")
    others = lab.ask(
        Ask("/stages/?NEW", headers={"Authorization": "Basic eDp5"}),
        Ask("/stages/?NEW", method="POST", headers={"Cookie": "theme=A"}),
        Ask("/admin/?NEW", headers={"Cookie": "theme=A"}),
    )
    need(outcomes(others) == ["pass"] * 3, "returned")
    (page,) = lab.ask(Ask("/?NEW", headers={"Cookie": "theme=A"}))
    need(page.outcome == "pass", "front-page")
