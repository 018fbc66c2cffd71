"""Three caches: each file on one of them, only a lost one's files move, and they return to it."""

import re

from checking import Ask, Attempt, Choice, Question

RESTARTS = {"varnish-2", "varnish-3"}
SEVERAL = 12  # files: hardly ever all on two caches

QUESTION = Question(
    right=Choice(
        "So that each file is stored once, not three times.",
        "In turn, every cache gets a copy of every file: three fetches, and the room of one cache.",
    ),
    wrong=(
        Choice("So that the right cache is found faster.", "Both take less than a microsecond."),
        Choice("So that a lost cache can be left out.", "In turn it can, too: the next one is asked."),
        Choice(
            "So that all three get equally many requests.",
            "In turn spreads it evenly; with a hash, the cache of a popular file has more to do.",
        ),
    ),
)


def check(attempt: Attempt) -> None:
    """Which cache has answered for each file, in nginx's log: the log of a killed cache is gone."""
    need = attempt.need
    need(
        {"varnish-2", "varnish-3"} <= attempt.started.keys(),
        "There was one cache when the lesson began. Type: make up EXTRAS=ring, then make lesson LESSON=16",
    )

    answers: dict[str, list[tuple[str, bool]]] = {}  # of each file: name of the cache, whether it was a hit
    # The workers write their lines in turn.
    for line in sorted(attempt.nginx("/media/"), key=lambda line: line.ended or 0):
        if line.status == 200 and (found := re.match(r"(varnish-\d); (hit)?", line.cache)):
            answers.setdefault(line.url, []).append((found[1], found[2] is not None))
    twice = {url: seen for url, seen in answers.items() if len(seen) >= 2}
    need(
        len(twice) >= SEVERAL,
        f"Request {SEVERAL} files twice, /media/fox.svg?WORD-1 and so on; so far it was {len(twice)}.",
    )
    first = {url: seen[0][0] for url, seen in twice.items()}
    moved = {url: first[url] for url, seen in twice.items() if any(cache != first[url] for cache, _ in seen)}
    need(moved, "No file has moved: kill varnish-2 or varnish-3, and request the files again.")
    lost = set(moved.values())
    need(
        len(lost) == 1,
        f"Files of {' and '.join(sorted(lost))} have moved: kill only one cache. "
        "Begin again: make lesson LESSON=16",
    )
    its_own = {url: seen for url, seen in twice.items() if first[url] in lost}
    need(
        len(moved) == len(its_own),
        f"{len(its_own) - len(moved)} of the lost cache's files were not requested while it was away. "
        "Begin again: make lesson LESSON=16",
    )
    (name,) = lost
    need(
        all((name, False) in seen[2:] for seen in its_own.values()),
        f"Bring {name} back, make up EXTRAS=ring, and request the files once more: it begins empty.",
    )

    urls = [f"/media/diva.svg?NEW-{number}" for number in range(30)]
    probes = attempt.ask(*(Ask(url, method="HEAD") for url in urls * 2))
    caches = [probe.answer.headers.get("cache-status", "none").partition(";")[0] for probe in probes]
    need(
        caches[:30] == caches[30:] and len(set(caches)) == 3,
        f"The check's own 30 files are on {', '.join(sorted(set(caches)))}, and not each on one of three.",
    )
