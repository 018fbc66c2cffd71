"""Three herds of forty on classic.localhost: one request, forty, forty."""

import re
from itertools import pairwise

from checking import Attempt, Choice, Question

HOST = "classic.localhost"

QUESTION = Question(
    right=Choice(
        "999 wait for the first response, then ask the backend all at once.",
        "A response that cannot be stored leaves a hit-for-miss object, so that the others "
        "fetch side by side.",
    ),
    wrong=(
        Choice(
            "999 wait for the first response, and are then served from it.",
            "They would get its cookie too: it is not stored.",
        ),
        Choice(
            "999 wait for each other, and are served one every two seconds.",
            "That is what would happen without hit-for-miss: the first response ends the waiting.",
        ),
        Choice(
            "999 get a 503 at once, as long as the first one is being fetched.",
            "Only those get one for which the backend has no connection left (limits.vcl allows 200).",
        ),
    ),
)


def check(attempt: Attempt) -> None:
    """How many came at once, how many of them waited, and how many the backend saw."""
    need = attempt.need

    for path, why in (
        ("/slow", ""),
        ("/media/", "the response to /media/WORD.png, a 404, is not stored"),
        ("/admin/id", "/admin/id is never cached"),
    ):
        seen = attempt.requests(path, HOST)
        need(
            seen or not (attempt.requests(path) or attempt.nginx(path)),
            f"The requests for {path} went to another host. On the default host nginx's own copy hides what "
            f"Varnish does: use {HOST}.",
        )
        need(seen, f"Varnish has seen no request for {path} with your word on {HOST} yet.")
        url = seen[-1].url  # the last attempt counts
        number = len({one.url for one in seen}) + 1
        new = re.sub(rf"{attempt.word}(-\d+)?", f"WORD-{number}", url)
        another = f"Repeat it with a new URL, {new}."
        herd = [request for request in seen if request.url == url]
        need(len(herd) >= 30, f"Varnish has seen {len(herd)} requests for {url} on {HOST}, not forty.")
        fetched = len(attempt.fetched(herd))
        if why:
            need(
                fetched >= 30,
                f"The backend has {fetched} requests for {url}. There should be one for each client: {why}.",
            )
            need(
                not all(later.after(earlier) for earlier, later in pairwise(herd)),
                f"The requests for {url} came one after another: curl needs -Z --parallel-immediate. "
                f"{another}",
            )
            continue
        need(
            herd[1].began - herd[0].answered < 0.5,
            f"The copy of {url} was there before the herd came. {another}",
        )
        need(
            fetched == 1,
            f"The backend has {fetched} requests for {url}. There should be one, which the others wait for: "
            "request it without a cookie.",
        )
        waited = sum(request.waited for request in herd)
        need(
            waited >= 5,
            f"Only {waited} of the requests for {url} have waited for the copy: the others came when it was "
            f"there. They must come within its 300 ms: curl needs -Z --parallel-immediate. {another}",
        )
