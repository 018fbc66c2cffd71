"""Three bursts of forty requests on classic.localhost: the backend gets one, forty, forty."""

import re
from itertools import pairwise

from lessons.checking import Laboratory, Need

HOST = "classic.localhost"


def check(lab: Laboratory, need: Need) -> None:
    """Check how many arrived at once, how many of them waited, and how many the backend got."""
    for path, why in (
        ("/slow", ""),
        ("/media/", "the response to /media/WORD.png, a 404, is not stored"),
        ("/admin/id", "/admin/id is never cached"),
    ):
        seen = lab.requests(path, HOST)
        need(seen or not (lab.requests(path) or lab.nginx(path)), "another-host", path)
        need(seen, "not-requested", path)
        url = seen[-1].url  # the last attempt counts
        number = len({one.url for one in seen}) + 1
        new = re.sub(rf"{lab.word}(-\d+)?", f"WORD-{number}", url)
        herd = [request for request in seen if request.url == url]
        need(len(herd) >= 30, "too-few", len(herd), url)
        fetched = len(lab.fetched(herd))
        if why:
            need(fetched >= 30, "not-each", fetched, url, why)
            need(not all(later.after(earlier) for earlier, later in pairwise(herd)), "one-by-one", url, new)
            continue
        need(herd[1].began - herd[0].answered < 0.5, "copy-before", url, new)
        need(fetched == 1, "not-one", fetched, url)
        waited = sum(request.waited for request in herd)
        need(waited >= 5, "not-waited", waited, url, new)
