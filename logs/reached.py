"""`make compare PATHS=...`: how many requests a cache answers, and why the others reached the application.

    python -m logs.reached REPORT

REPORT is the report.json of Locust's comparison (loadtest/results/report.py). The reasons are those that
Varnish has logged for requests of the last measurement, the one through nginx and Varnish. The exit status is
1 if that row is missing, or if more than a tenth of its requests did not end with 2xx.
"""

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from proscenium.running import NotRunning, running

from .explaining import by_varnish
from .varnishlog import Request, requests

CACHED = "app"  # the topology with nginx and Varnish
WRONG = 0.1  # share of requests that may end with another status than 2xx
LEAST = 0.01  # a reason with a smaller share of the requests gets no line
NAMED = 3  # paths that are listed for each reason


def main(report: Path) -> int:
    """Print the share of requests that a cache answers, and why the others reached the application."""
    measurements = json.loads(report.read_text())["measurements"]
    for measured in measurements:
        if words := wrong(measured):
            print(f"INVALID: {measured['topology']}: {words}")
    measured = next((one for one in measurements if one["topology"] == CACHED and not wrong(one)), None)
    if measured is None:
        return 1
    print(f"Of 100 requests a cache answers {100 * measured['hit_ratio']:.3g}.")
    log = running().varnish("varnishlog", "-d", "-g", "request", "-q", "ReqHeader:X-Own-App")
    began = measured["began"]
    print(*why(list(requests(log.splitlines())), began, began + measured["seconds"]), sep="\n")
    return 0


def wrong(measured: Mapping[str, Any]) -> str:
    """Return how requests ended, if too many failed to tell anything about a cache; else empty."""
    total = sum(row["num_requests"] for row in measured["rows"])
    if not total:
        return "no request was made"
    ended: Counter[str] = Counter()
    for record in measured["caches"]:  # one for each row of the table
        if record["tier"] == "status":
            ended[record["outcome"]] += record["answers"]
    ended["no answer"] = total - ended.total()
    others = Counter({status: number for status, number in ended.items() if status[0] != "2" and number > 0})
    if others.total() <= WRONG * total:
        return ""
    most = ", ".join(status for status, _ in others.most_common(NAMED))
    hint = ": is the first of APP_NAMES the name that the application knows, and are these its paths?"
    return f"{100 * others.total() / total:.0f} % of the requests ended with {most}" + (
        hint if most[0] in "34" else ""
    )


def why(seen: Sequence[Request], began: float, ended: float) -> Iterator[str]:
    """Yield a line for each reason why requests reached the application, the most frequent first."""
    paths: dict[str, Counter[str]] = defaultdict(Counter)
    fetched = {fetch.xid: one for one in seen for fetch in one.fetches}
    for one in seen:
        if began <= one.client.began <= ended and any(fetch.reason != "bgfetch" for fetch in one.fetches):
            first = one  # at a hit-for-miss mark, below: the request that left it, perhaps in the warm-up
            while mark := first.client.first("HitPass") or first.client.first("HitMiss"):
                if (number := int(mark.split()[0])) not in fetched:
                    break
                first = fetched[number]
            paths["; ".join(by_varnish(first)) or first.outcome][one.path] += 1
    total = sum(found.total() for found in paths.values())
    if not total:
        yield "Varnish's log has no request that reached the application."
        return
    yield f"Why {total} requests, the last ones in Varnish's log, reached the application:"
    for reason, found in sorted(paths.items(), key=lambda item: -item[1].total()):
        if found.total() >= LEAST * total:
            where = ", ".join(path for path, _ in found.most_common(NAMED))
            more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
            yield f"  {100 * found.total() / total:3.0f} %  {reason}: {where}{more}"


if __name__ == "__main__":
    try:
        sys.exit(main(Path(sys.argv[1])))
    except (NotRunning, OSError) as error:
        sys.exit(str(error))
