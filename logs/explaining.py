"""Describes which server answered a request, and why the response did not come from the cache."""

from dataclasses import dataclass

from .serverlogs import Line
from .varnishlog import Request, Transaction

# nginx's `answered` (nginx/logging/outcome.conf) for requests that are not in Varnish's log.
BY_NGINX = {
    "nginx:hit": "nginx has a copy of this second",
    "nginx:disk": "nginx reads the file",
    "nginx:error": "nginx's upstream does not answer",
    "nginx:synth": "nginx answers by itself",
    "backend:none": "no cache was asked",
    "varnish:refused": "it refuses such a message before any rule",
    "varnish:closed": "the client did not wait for it",
    "backend:closed": "the client did not wait for it",
}


@dataclass(frozen=True)
class Explained:
    """A request in a few words; the times are in seconds, None for a time that is missing or unknown."""

    server: str  # nginx, varnish or backend
    outcome: str  # at the last cache on the way
    why: str = ""
    total: float | None = None
    backend: float | None = None


def explain(line: Line, seen: Request | None) -> Explained:
    """Explain a request from nginx's line and from Varnish's records of it."""
    server, _, outcome = line.answered.partition(":")
    by_nginx = BY_NGINX.get(line.answered, "")
    if seen is None:
        return Explained(server, outcome, by_nginx, line.seconds)
    total = line.seconds if line.seconds is not None else seen.last.until("Resp")
    waited = [fetch.until("Beresp") for fetch in _fetches(seen) if fetch.reason != "bgfetch"]
    known = [seconds for seconds in waited if seconds is not None]
    why = "; ".join(filter(None, [*by_varnish(seen), by_nginx]))
    return Explained(server, outcome, why, total, sum(known) if known else None)


def of_varnish(line: Line) -> bool:
    """Return whether Varnish must have logged the request, too."""
    return line.answered not in BY_NGINX or (line.answered == "nginx:disk" and "varnish" in line.cache)


def by_varnish(seen: Request) -> list[str]:
    """Return the reasons why a request was not a hit, and last the outcomes of the parts of an assembled
    page.
    """
    reasons = {
        "stale": lambda: [expired(seen)],
        "miss": lambda: [absent(seen), kept(seen)],
        "hit-for-miss": lambda: [absent(seen)],
        "pass": lambda: [passed(seen)],
        "synth": lambda: seen.client.rules,
        "error": lambda: list(
            dict.fromkeys(why for fetch in seen.fetches for why in fetch.all("FetchError"))
        ),
    }
    found = reasons.get(seen.outcome, list)()
    if seen.parts:
        found.append("assembled from parts: " + ", ".join(part.outcome for part in seen.parts))
    return found


def expired(seen: Request) -> str:
    """Return why the copy that was served was stale."""
    ago = f"expired {-seen.remaining:.0f} s ago"
    if not seen.fetches:
        return f"{ago}; another request fetches"
    failed = any("BACKEND_ERROR" in fetch.calls or _abandoned_error(fetch) for fetch in seen.fetches)
    return f"{ago}; the backend fails" if failed else f"{ago}; fetched in the background"


def _abandoned_error(fetch: Transaction) -> bool:
    return "abandon" in fetch.all("VCL_return") and (fetch.first("BerespStatus") or "") >= "500"


def absent(seen: Request) -> str:
    """Return why no copy could be served."""
    if seen.client.all("HitMiss"):
        return "the last response could not be stored"
    if seen.client.all("ExpBan"):
        return "it was purged"
    return "; ".join(seen.client.rules) or "no usable copy"


def kept(seen: Request) -> str:
    """Return for how long the response is stored, or why it is not stored."""
    if seen.lifetime:
        return f"kept for {seen.lifetime} s"
    rules = seen.fetches[-1].rules if seen.fetches else []
    return ": ".join(["not stored", *rules])


def answered(fetch: Transaction) -> str:
    """Return the backend's name, and its response's status, delay and Cache-Control; empty if there was no
    response.
    """
    status, lifetime = fetch.first("BerespStatus"), fetch.header("Cache-Control", "BerespHeader")
    said = f"Cache-Control: {lifetime}" if lifetime else "no Cache-Control"
    after = (fetch.until("Beresp") or 0) * 1000
    names = [opened.split()[1] for opened in fetch.all("BackendOpen")]
    return " ".join([*names[-1:], f"answered {status} after {after:.1f} ms, {said}"]) if status else ""


def stored(seen: Request, fetch: Transaction) -> str:
    """Return for how long the response to a fetch is kept as a copy; empty if nothing decided that.

    A response that is not stored has a lifetime, too: until it ends, requests for it go to the backend in
    parallel, because they could not share a response.
    """
    if "BACKEND_RESPONSE" not in fetch.calls or "BACKEND_ERROR" in fetch.calls:
        return ""
    if "PASS" in seen.client.calls:
        return "not stored: it is a pass"
    if "abandon" in fetch.all("VCL_return"):
        return "not stored: the copy stays"
    _, ttl, grace, *_, storable = fetch.last_ttl
    if storable != "cacheable" and ttl == "0":
        return "not stored; each who waits for it asks the backend"
    if storable != "cacheable":
        return f"not stored; for {ttl} s requests for this do not wait for each other (hit-for-miss)"
    if grace == "0":
        return f"kept for {ttl} s, and no longer: it must be revalidated"
    return f"kept for {ttl} s, and for another {grace} s in case the backend fails"


def passed(seen: Request) -> str:
    """Return why a request was not looked up, or why the object that was found was not used."""
    if seen.client.all("HitPass"):
        return "the last response was not kept"
    return "; ".join(seen.client.rules) or "a rule of the VCL"


def _fetches(seen: Request) -> list[Transaction]:
    return [*seen.fetches, *(fetch for part in seen.parts for fetch in _fetches(part))]
