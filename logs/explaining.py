"""Says in a few words which server answered a request, and why it did not come from the cache."""

import re
from dataclasses import dataclass

from .inside import REPO
from .serverlogs import Line
from .varnishlog import Request, Transaction

WITHOUT_CACHE = ("nginx.localhost", "static.localhost", "direct.localhost", "nginx.site.localhost")


@dataclass(frozen=True)
class Explained:
    """A request in a few words; the times are in seconds, None if there was none or it is not known."""

    server: str  # nginx, varnish or backend
    outcome: str  # of docs/caching-rules.md, or what nginx did without them
    why: str = ""
    total: float | None = None
    backend: float | None = None


def explain(line: Line, seen: Request | None) -> Explained:
    """A request, from nginx's line and from Varnish's records of it."""
    if seen is None:
        server, outcome, why = by_nginx(line)
        return Explained(server, outcome, why, line.seconds)
    outcome = seen.outcome
    server = "varnish" if outcome in ("hit", "stale", "synth", "error") else "backend"
    total = line.seconds if line.seconds is not None else seen.last.until("Resp")
    waited = [fetch.until("Beresp") for fetch in _fetches(seen) if fetch.reason != "bgfetch"]
    known = [seconds for seconds in waited if seconds is not None]
    return Explained(server, outcome, by_varnish(line, seen), total, sum(known) if known else None)


def of_varnish(line: Line) -> bool:
    """Whether Varnish must have logged the request too."""
    return line.host == "classic.localhost" or (
        line.cache.startswith("varnish") and not line.cache.endswith("nginx; hit")
    )


def by_nginx(line: Line) -> tuple[str, str, str]:
    """Server, outcome and reason of a request that Varnish has not seen, or not finished."""
    *before, last = line.cache.split(", ")
    if last.startswith("nginx; hit"):
        if "detail=stale" in last:
            return "nginx", "stale", "Varnish does not answer"
        return "nginx", "hit", "nginx has a copy of this second"
    if last.startswith("nginx; detail=") or line.status in (308, 421):
        why = "nginx's upstream does not answer" if "detail=error" in last else "nginx answers by itself"
        return "nginx", "own page", why
    if before:  # such as a stale copy whose background fetch is still running
        detail = re.search(r"detail=([\w-]+)", before[0])
        outcome = detail[1] if detail else "hit" if "; hit" in before[0] else "miss"
        return "varnish" if "; hit" in before[0] else "backend", outcome, ""
    if line.host == "static.localhost" and line.path.startswith("/media/"):
        return "nginx", "file", "nginx reads the file"
    if line.host in WITHOUT_CACHE:
        return "backend", "no cache", "this site has no cache"
    if line.status == 101:
        return "backend", "pass", "a WebSocket, from start to end"
    return "backend", "pass", "nginx bypasses Varnish"


def by_varnish(line: Line, seen: Request) -> str:
    """Why a request was not a hit; for a hit, its parts and the use of the disk."""
    reasons = {
        "stale": expired,
        "miss": lambda seen: f"{absent(seen)}; {kept(seen.lifetime)}",
        "hit-for-miss": absent,
        "pass": passed,
        "error": _failed,
    }
    found = [reasons[seen.outcome](seen)] if seen.outcome in reasons else []
    if seen.parts:
        found.append("assembled from parts: " + ", ".join(part.outcome for part in seen.parts))
    if line.cache.endswith("detail=disk"):
        found.append("nginx reads the file")
    return "; ".join(found)


def expired(seen: Request) -> str:
    """Why the copy that answered was a stale one."""
    ago = f"expired {-seen.remaining:.0f} s ago"
    if not seen.fetches:
        return f"{ago}; another request fetches"
    failed = any("BACKEND_ERROR" in fetch.calls for fetch in seen.fetches)
    return f"{ago}; the backend fails" if failed else f"{ago}; fetched in the background"


def absent(seen: Request) -> str:
    """Why no copy could answer."""
    if seen.client.all("HitMiss"):
        return "the last response could not be stored"
    if seen.client.all("ExpBan"):
        return "it was purged"
    if "no-cache" in seen.header("Cache-Control") and seen.host == "classic.localhost":
        return "shift-reload"
    return "no usable copy"


def kept(seconds: int) -> str:
    """For how long a response is stored; 0 means that it is not."""
    return f"kept for {seconds} s" if seconds else "not stored"


def passed(seen: Request) -> str:
    """Why a request was not looked up, or why the object found was not used."""
    if seen.method not in ("GET", "HEAD"):
        return f"the method {seen.method}"
    if seen.client.all("HitPass"):
        return "the last response was too large to keep, or a stream"
    if not seen.header("X-Site") and any(
        seen.path == folder[:-1] or seen.path.startswith(folder) for folder in passed_folders()
    ):
        return "this path is never cached"
    if seen.header("Cookie"):
        return "a cookie"
    return "a password" if seen.header("Authorization") else "a rule of the VCL"


def _failed(seen: Request) -> str:
    return "; ".join(dict.fromkeys(error for fetch in seen.fetches for error in fetch.all("FetchError")))


def passed_folders() -> list[str]:
    """The folders that no cache may answer for, from docs/caching-rules.md."""
    rules = (REPO / "docs" / "caching-rules.md").read_text()
    row = re.search(r"^\| passed: [^|]*\|([^|]*)\|", rules, re.M)
    return re.findall(r"`([^`]+)`", row[1]) if row else []


def _fetches(seen: Request) -> list[Transaction]:
    return [*seen.fetches, *(fetch for part in seen.parts for fetch in _fetches(part))]
