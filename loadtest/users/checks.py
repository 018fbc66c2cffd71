"""Checks of one sample: whether a response is as the stack promises. They use no network.

Every function returns the fault, or None. Equal faults get equal texts, because Locust counts by text.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree

from caches import cache_status
from users import paths

IDENTITY_FIELDS = frozenset({"player", "key", "canAct", "canAdmin", "canSu"})
STAGE_PORT = 7230  # the port that the page gives to Flash, whichever port the load test uses


@dataclass(frozen=True)
class Response:
    """The checked parts of one response to a GET.

    `length`: bytes of the body. `cache_status`: the whole field, empty if there is none. `conditional`: the
    request asked whether the browser's copy is still valid, so a 304 is allowed. `warm`: the URL had been
    received before the request was sent, so a cache must have it. `differs`: the body has changed, but its
    ETag has not.
    """

    path: str
    status: int
    length: int
    cache_status: str
    conditional: bool
    warm: bool
    differs: bool = False


def response_fault(response: Response) -> str | None:
    """Check the status, the body and the outcomes at the caches."""
    if response.status == 404 and response.path.startswith("/stages/"):
        return f"{response.path}: status 404: there is no such stage; name another one, as in --stage=demo"
    if response.status not in ((200, 304) if response.conditional else (200,)):
        return f"{response.path}: status {response.status}"
    if response.status == 200 and not response.length:
        return f"{response.path}: empty body"
    if response.differs:
        return f"{response.path}: the body has changed, but its ETag has not"
    caches = cache_status.parse(response.cache_status)
    hit = is_hit(response.cache_status)
    reported = ", ".join(str(cache) for cache in caches) or "(missing)"
    if paths.stored(response.path) and response.warm and not hit:
        return f"{response.path}: not a hit after warm-up, Cache-Status: {reported}"
    if paths.passed(response.path) and hit:
        return f"{response.path}: answered by a cache that must pass it, Cache-Status: {reported}"
    return None


def is_hit(cache_status_field: str) -> bool:
    """Return whether any cache had the response: nginx keeps a response of Varnish for a second."""
    return any(cache.hit for cache in cache_status.parse(cache_status_field))


def stage_fault(assets: list[str]) -> str | None:
    """Check the files that a stage page names: without media the stage is empty."""
    if any(urlsplit(url).path.startswith("/media/") for url in assets):
        return None
    return "the stage page names no media"


def identity_fault(text: str) -> str | None:
    """Check the body of /admin/id: URL-encoded fields, of which `player` may be empty."""
    missing = IDENTITY_FIELDS - parse_qs(text, keep_blank_values=True).keys()
    return f"the identity lacks {', '.join(sorted(missing))}" if missing else None


def player_fault(identity: Mapping[str, str], name: str) -> str | None:
    """Check the identity of a user who has signed in as `name`."""
    if identity["player"] != name:
        return "signed in, but the identity is not this player's"
    return None if identity["canAct"].lower() == "true" else "signed in, but this player may not act"


def policy_fault(policy: bytes, site: str) -> str | None:
    """Check that a socket policy lets Flash pages of `site` connect to the stage."""
    try:
        root = ElementTree.fromstring(policy)  # noqa: S314  # of the server under test
    except (ElementTree.ParseError, LookupError, ValueError):
        return "the policy is not XML"
    if root.tag != "cross-domain-policy":
        return "the policy is XML, but no socket policy"
    for grant in root.iter("allow-access-from"):
        if _covers(grant.get("domain", ""), site) and _opens(grant.get("to-ports", "")):
            return None
    return f"the policy does not allow {site} to connect to port {STAGE_PORT}"


def _covers(domain: str, site: str) -> bool:
    """Return whether a grant to `domain` includes `site`."""
    if domain.startswith("*."):
        return site.endswith(domain[1:])
    return domain in ("*", site)


def _opens(ports: str) -> bool:
    """Return whether `ports` (`*`, or numbers and ranges separated by commas) include the stage's port."""
    for part in ports.split(","):
        low, _, high = part.strip().partition("-")
        if low == "*" or (low.isdigit() and int(low) <= STAGE_PORT <= int(high or low)):
            return True
    return False
