"""Three caches: each file is on one of them; only a lost cache's files move, and they return to it."""

import re

from lessons.checking import Ask, Laboratory, Need

SEVERAL = 12  # files: hardly ever all on only two of the caches


def check(lab: Laboratory, need: Need) -> None:
    """Check which cache answered for each file, in nginx's log: a killed cache's own log is gone."""
    need({"varnish-2", "varnish-3"} <= lab.started.keys(), "one-cache")

    responses: dict[str, list[tuple[str, bool]]] = {}  # file -> name of the cache, whether it was a hit
    # The workers write their lines in turn, so the log is not in order.
    for line in sorted(lab.nginx("/media/"), key=lambda line: line.ended or 0):
        if line.status == 200 and (found := re.match(r"(varnish-\d); (hit)?", line.cache)):
            responses.setdefault(line.url, []).append((found[1], found[2] is not None))
    twice = {url: seen for url, seen in responses.items() if len(seen) >= 2}
    need(len(twice) >= SEVERAL, "twice", len(twice))
    first = {url: seen[0][0] for url, seen in twice.items()}
    moved = {url: first[url] for url, seen in twice.items() if any(cache != first[url] for cache, _ in seen)}
    need(moved, "not-moved")
    lost = set(moved.values())
    need(len(lost) == 1, "two-lost", " and ".join(sorted(lost)))
    its_own = {url: seen for url, seen in twice.items() if first[url] in lost}
    need(len(moved) == len(its_own), "not-requested", len(its_own) - len(moved))
    (name,) = lost
    need(all((name, False) in seen[2:] for seen in its_own.values()), "bring-back", name)

    urls = [f"/media/diva.svg?NEW-{number}" for number in range(30)]
    probes = lab.ask(*(Ask(url, method="HEAD") for url in urls * 2))
    caches = [probe.response.headers.get("cache-status", "none").partition(";")[0] for probe in probes]
    need(caches[:30] == caches[30:] and len(set(caches)) == 3, "own-files", ", ".join(sorted(set(caches))))
