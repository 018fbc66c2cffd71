"""Is this answer what the stack promises? The judgement of one sample, without any network.

Every function answers with what is wrong, or with None if nothing is. The same fault gets the same
words, because Locust counts equal ones together.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree

from visitors import cache_status, paths

IDENTITY_FIELDS = frozenset({"player", "key", "canAct", "canAdmin", "canSu"})
STAGE_PORT = 7230  # what the page tells Flash to connect to, whichever port a load comes in by


@dataclass(frozen=True)
class Answer:
    """One HTTP answer to a GET, as far as it is judged.

    `length`: bytes of the body. `cache_status`: the whole field, empty if there was none.
    `conditional`: the request asked whether the browser's copy is still good, so 304 is an answer.
    `warm`: when the request was sent, the same URL had been answered before.
    """

    path: str
    status: int
    length: int
    cache_status: str
    conditional: bool
    warm: bool


def answer_fault(answer: Answer) -> str | None:
    """Judge status, body and the caches' part in it."""
    if answer.status not in ((200, 304) if answer.conditional else (200,)):
        return f"{answer.path}: status {answer.status}"
    if answer.status == 200 and not answer.length:
        return f"{answer.path}: empty body"
    try:
        caches = cache_status.parse(answer.cache_status)
    except ValueError:
        return f"{answer.path}: malformed Cache-Status"
    # Whichever cache had it: nginx may keep an answer of Varnish for a second.
    hit = any(cache.hit for cache in caches)
    said = ", ".join(str(cache) for cache in caches) or "(missing)"
    if paths.stored(answer.path) and answer.warm and not hit:
        return f"{answer.path}: not a hit after warm-up, Cache-Status: {said}"
    if paths.passed(answer.path) and hit:
        return f"{answer.path}: a cache answered what it must pass, Cache-Status: {said}"
    return None


def stage_fault(assets: list[str]) -> str | None:
    """Judge a stage page by what it names: without media there is nothing to see."""
    if any(urlsplit(url).path.startswith("/media/") for url in assets):
        return None
    return "the stage page names no media"


def identity_fault(text: str) -> str | None:
    """Judge the answer of /admin/id: url-encoded fields, of which `player` may be empty."""
    missing = IDENTITY_FIELDS - parse_qs(text, keep_blank_values=True).keys()
    return f"the identity lacks {', '.join(sorted(missing))}" if missing else None


def player_fault(identity: Mapping[str, str], name: str) -> str | None:
    """Judge the identity of somebody who has signed in as `name`."""
    if identity["player"] != name:
        return "signed in, but the identity is not this player's"
    return None if identity["canAct"].lower() == "true" else "signed in, but this player may not act"


def policy_fault(policy: bytes, site: str) -> str | None:
    """What is wrong with a policy for Flash pages of `site`; None if it lets them in."""
    try:
        root = ElementTree.fromstring(policy)
    except (ElementTree.ParseError, LookupError, ValueError):
        return "the policy is not XML"
    if root.tag != "cross-domain-policy":
        return "the policy is XML of another kind"
    for grant in root.iter("allow-access-from"):
        if _covers(grant.get("domain", ""), site) and _opens(grant.get("to-ports", "")):
            return None
    return f"the policy does not let {site} connect to port {STAGE_PORT}"


def _covers(domain: str, site: str) -> bool:
    """Whether a grant to `domain` holds for `site`."""
    if domain.startswith("*."):
        return site.endswith(domain[1:])
    return domain in ("*", site)


def _opens(ports: str) -> bool:
    """Whether the stage's port is among `*`, or numbers and ranges between commas."""
    for part in ports.split(","):
        low, _, high = part.strip().partition("-")
        if low == "*" or (low.isdigit() and int(low) <= STAGE_PORT <= int(high or low)):
            return True
    return False
