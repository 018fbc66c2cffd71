"""Say how much a cache helps a site: read a comparison and say the answer.

    python -m extras.site.answer FOLDER SITE

FOLDER has `report.json`, Locust's measurements of the application alone, behind nginx, and behind nginx
and Varnish; and `cpu`, the output of `cpu.py` during these. SITE is its name in SITES, or `site`.
Varnish's log says why a request reached the application. The answer is also written to `site.md` there.
"""

import json
import re
import sys
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from logs.varnishlog import Request, Transaction, requests
from proscenium.running import NotRunning, running

PATHS = {"alone.site": "the application alone", "nginx.site": "nginx", "site": "nginx, Varnish"}
FIGURES = (  # title, figure, factor, decimals
    ("requests/s", "requests_per_second", 1, 1),
    ("p50 ms", "p50_ms", 1, 0),
    ("p95 ms", "p95_ms", 1, 0),
    ("p99 ms", "p99_ms", 1, 0),
    ("hits %", "hit_ratio", 100, 1),
    ("reach the application/s", "application_requests_per_second", 1, 1),
    ("its CPU, % of a core", "application_cpu_percent", 1, 0),
    ("its CPU, ms a request", "application_cpu_ms", 1, 2),
    ("failures %", "failure_ratio", 100, 2),
)
TAGS = "Begin,Timestamp,ReqMethod,ReqURL,ReqHeader,VCL_call,Hit,HitMiss,TTL,"
TAGS += "BereqHeader,BerespStatus,BerespHeader"
NAMED = 3  # paths for each reason
MARK = 60.0  # seconds; the lifetime of the mark that a response is not kept
LEAST = 0.01  # share of a reason that is worth a line
WRONG = 0.1  # share of requests that may end otherwise than with 2xx


def main(folder: Path, site: str) -> int:
    """Print and write the answer; 1 if nothing was measured, or not what the cache does."""
    report = json.loads((folder / "report.json").read_text())
    if not report["measurements"]:
        print("Nothing was measured.", file=sys.stderr)
        return 1
    cpu = read_cpu(folder / "cpu")
    rows = [figures(measured, cpu) for measured in report["measurements"]]
    valid = {row["topology"]: row for row in rows if not row["invalid"]}
    lines = [*table(rows), *sentences(valid)]
    if "site" in valid:
        lines += ["", *explained(site_requests(site, valid["site"]))]
    text = "\n".join([*lines, ""])
    (folder / "site.md").write_text(text)
    print("\n" + text)
    return 0 if report["answered"] and "site" in valid else 1


def read_cpu(file: Path) -> list[tuple[float, float]]:
    """Times, and seconds of CPU time used until then."""
    lines = file.read_text().splitlines() if file.exists() else []
    return [(float(when), float(seconds)) for when, _, seconds in (line.partition(" ") for line in lines)]


def figures(measured: dict[str, Any], cpu: list[tuple[float, float]]) -> dict[str, Any]:
    """The row of one measurement: Locust's figures, and those of the application."""
    reached = sum(record["answers"] for record in measured["caches"] if record["tier"] == "backend")
    used = cpu_between(cpu, measured["began"], measured["began"] + measured["seconds"])
    seconds = measured["seconds"]
    sent = measured["requests_per_second"] * seconds
    return measured | {
        "path": PATHS.get(measured["topology"], measured["topology"]),
        "invalid": invalid(measured),
        "application_requests_per_second": round(reached / seconds, 1),
        "application_cpu_percent": None if used is None else 100 * used / seconds,
        "application_cpu_ms": None if used is None or not sent else 1000 * used / sent,
    }


def invalid(measured: dict[str, Any]) -> str:
    """Why a row takes part in no sentence; empty if it does.

    It does not if more than a tenth of its requests ended otherwise than with 2xx: with a redirect, an error
    or no answer. So no class of statuses has shares in two valid rows that differ by more than a tenth.
    """
    wrong: Counter[str] = Counter()
    requests = wrong["no answer"] = sum(row["num_requests"] for row in measured["rows"])
    for record in measured["caches"]:
        if record["tier"] == "status":
            wrong["no answer"] -= record["answers"]
            wrong[record["outcome"]] += record["answers"]
    wrong = Counter({status: number for status, number in wrong.items() if number > 0 and status[0] != "2"})
    if wrong.total() <= WRONG * requests:
        return ""
    most = ", ".join(status for status, _ in wrong.most_common(NAMED))
    hint = ": is the first of SITE_NAMES the name that the application knows, and are these its paths?"
    text = f"{100 * wrong.total() / requests:.0f} % of the requests ended with {most}"
    return text + (hint if most[0] in "34" else "")


def cpu_between(cpu: list[tuple[float, float]], begin: float, end: float) -> float | None:
    """Seconds of CPU time used between two times; the log must have several lines between them."""
    first = bisect_left(cpu, (begin, 0.0))
    last = bisect_left(cpu, (end, 0.0)) - 1
    if last <= first:
        return None
    (t0, c0), (t1, c1) = cpu[first], cpu[last]
    return (c1 - c0) * (end - begin) / (t1 - t0)


def table(rows: list[dict[str, Any]]) -> list[str]:
    """The measurements as a Markdown table, then which of them are invalid."""
    lines = ["| | " + " | ".join(title for title, *_ in FIGURES) + " |", "|---|" + "--:|" * len(FIGURES)]
    for row in rows:
        cells = [shown(row.get(key), factor, decimals) for _, key, factor, decimals in FIGURES]
        lines.append(f"| {row['path']} | " + " | ".join(cells) + " |")
    lines.append("")
    return lines + [f"INVALID: {row['path']}: {row['invalid']}" for row in rows if row["invalid"]]


def shown(value: float | None, factor: float, decimals: int) -> str:
    """A figure, or `-` for one that was not measured."""
    return "-" if value is None else f"{value * factor:,.{decimals}f}"


def sentences(valid: dict[str, dict[str, Any]]) -> list[str]:
    """Say what a cache changes.

    The application does the same work alone and behind nginx. So a difference no larger than that between
    these rows says nothing of a cache.
    """
    if "site" not in valid:
        return []
    if not valid["site"]["hit_ratio"]:
        return ["The cache answered none of the requests."]
    text = [f"Of 100 requests a cache answers {100 * valid['site']['hit_ratio']:.3g}."]
    alone, nginx, cached = (valid.get(name, {}).get("application_cpu_ms") for name in PATHS)
    if alone is None or not nginx or cached is None:
        return text
    if abs(nginx - cached) <= abs(nginx - alone):
        costs = f"{cached:.2f} ms behind nginx and Varnish, {nginx:.2f} behind nginx, {alone:.2f} alone"
        return [*text, f"Too little to tell about CPU time: a request costs the application {costs}."]
    share = f"{100 * abs(nginx - cached) / nginx:.0f} % {'less' if cached < nginx else 'more'} CPU time"
    return [*text, f"A request costs the application {share} behind nginx and Varnish than behind nginx."]


def site_requests(site: str, measured: dict[str, Any]) -> list[Request]:
    """The requests of a measurement that Varnish's log still has."""
    log = running().varnish(
        "varnishlog", "-d", "-g", "request", "-i", TAGS, "-q", f'ReqHeader:X-Site eq "{site}"'
    )
    begin, end = measured["began"], measured["began"] + measured["seconds"]
    return [seen for seen in requests(log.splitlines()) if begin <= seen.client.began <= end]


REMEDIES = {
    "no lifetime": (
        "the response has no lifetime (`Cache-Control: max-age`)",
        "send `Cache-Control: max-age=60`, or: `if ({condition}) {{ set beresp.ttl = 60s; }}`",
    ),
    "private": (
        "its `Cache-Control` forbids it ({detail})",
        "if it is the same for all visitors, send `public, max-age=60` instead",
    ),
    "sets a cookie": (
        "the response sets the cookie {detail}",
        "where no form needs it: `if ({condition}) {{ unset beresp.http.Set-Cookie; }}`",
    ),
    "a cookie": (
        "the request has the cookie {detail}",
        "if it is the same for all visitors, in `vcl_recv`: `if ({condition}) {{ unset req.http.Cookie; }}`; "
        "a style, script or picture may say `public` instead",
    ),
    "a password": (
        "the request has a password",
        "if all may read it, in `vcl_recv`: `if ({condition}) {{ unset req.http.Authorization; }}`",
    ),
    "varies": (
        "it differs by {detail} (`Vary`), so that each value has a copy of its own",
        "reduce the header to what matters (lesson 15), or remove it from `Vary`",
    ),
    "status": (
        "its status is {detail}, without a lifetime",
        "nothing to do, if that is what it should be",
    ),
    "large": (
        "it is above 8 MB, or a stream that is not text",
        "serve large files from nginx or from elsewhere",
    ),
    "confirmed": (
        "it confirmed the copy, as its `Cache-Control` asks for, and sent no body",
        "a `max-age`, if the page may be older",
    ),
    "first": (
        "it was fetched for the first time, or its lifetime had ended",
        "a longer `max-age`, if the page may be older",
    ),
}


def reason(seen: Request) -> tuple[str, str]:
    """Return why a request reached the application: one of REMEDIES, and a detail."""
    fetches = [fetch for fetch in seen.fetches if fetch.reason != "bgfetch"]
    fetch = fetches[-1]

    def said(name: str) -> str:
        return fetch.header(name, "BerespHeader")

    status, control = fetch.first("BerespStatus"), said("Cache-Control")
    storable = fetch.last_ttl[-1:] == ["cacheable"]
    if storable and status == "304":
        return "confirmed", ""
    if cookie := said("Set-Cookie"):
        return "sets a cookie", f"`{cookie.partition('=')[0].strip()}`"
    if forbidden := re.search(r"(?i)\b(private|no-store|no-cache)\b", control):
        return "private", f"`{forbidden[1].lower()}`"
    if not storable and (cookies := fetch.header("Cookie", "BereqHeader")):
        names = sorted({pair.partition("=")[0].strip() for pair in cookies.split(";")})
        return "a cookie", ", ".join(f"`{name}`" for name in names[:NAMED])
    if not storable and fetch.header("Authorization", "BereqHeader"):
        return "a password", ""
    if lifetime(fetch) <= 0:
        return ("no lifetime", "") if status in ("200", "304") else ("status", status)
    others = [
        name for name in re.split(r"[,\s]+", said("Vary").lower()) if name not in ("", "accept-encoding")
    ]
    if others:
        return "varies", ", ".join(f"`{name}`" for name in others)
    return ("first" if storable else "large"), ""


def lifetime(fetch: Transaction) -> float:
    """Return for how many seconds its headers and the rules allowed a cache to keep the response."""
    values = [float(record.split()[1]) for record in fetch.all("TTL")]
    if not values:  # a request that was passed, because of an earlier response for example
        found = re.search(r"(?:s-maxage|max-age)=(\d+)", fetch.header("Cache-Control", "BerespHeader"))
        return float(found[1]) if found else float(bool(fetch.header("Expires", "BerespHeader")))
    given = list(values)
    while given and given[-1] == MARK:
        given.pop()
    return (given or values)[-1]


def condition(path: str, request: str) -> str:
    """A condition in VCL that matches this page, or the files of this folder."""
    folder, _, file = path.rpartition("/")
    if "." in file and folder:
        return f'{request}.url ~ "^{folder}/"'
    return f'{request}.url ~ "^{path}(\\?|$)"'


def explained(seen: Iterable[Request]) -> Iterator[str]:
    """List what kept responses from the cache, most frequent first, with the line that would change it."""
    reached = [one for one in seen if any(fetch.reason != "bgfetch" for fetch in one.fetches)]
    if not reached:
        yield "Varnish's log has no request that reached the application."
        return
    paths: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)  # by reason
    for one in reached:
        paths[reason(one)][one.path] += 1
    yield f"Why {len(reached)} requests, the last ones in Varnish's log, reached the application:"
    yield ""
    for (why, detail), found in sorted(paths.items(), key=lambda item: -item[1].total()):
        if found.total() < LEAST * len(reached):
            break
        most = [path for path, _ in found.most_common(NAMED)]
        where = ", ".join(f"`{path}`" for path in most)
        if len(found) > NAMED:
            where += f" and {len(found) - NAMED} more"
        because, remedy = REMEDIES[why]
        yield f"- {100 * found.total() / len(reached):.0f} %: {because.format(detail=detail)}: {where}."
        remedy = remedy.format(condition=condition(most[0], "req" if "vcl_recv" in remedy else "bereq"))
        yield f"  {remedy[:1].upper()}{remedy[1:]}."


if __name__ == "__main__":
    try:
        sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
    except (NotRunning, OSError) as error:
        sys.exit(str(error))
