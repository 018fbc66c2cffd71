from dataclasses import replace
from pathlib import Path

import pytest

from users.checks import Response, player_fault, policy_fault, response_fault

HIT = "varnish; hit; ttl=43190"
GOOD = Response("/media/a.svg", status=200, length=100, cache_status=HIT, conditional=False, warm=True)
COLD = "/media/a.svg: not a hit after warm-up, Cache-Status: "
FORWARDED = "varnish; fwd=uri-miss; ttl=7; stored"


@pytest.mark.parametrize(
    "response",
    [
        GOOD,
        replace(GOOD, status=304, length=0, conditional=True),
        replace(GOOD, cache_status=FORWARDED, warm=False),
        # nginx has a copy of a file that Varnish had to fetch: a hit.
        replace(GOOD, cache_status=f"{FORWARDED}, nginx; hit"),
        replace(GOOD, cache_status="varnish; hit; detail=stale, nginx; fwd=bypass"),
        replace(GOOD, path="/stages/demo", cache_status=FORWARDED),
        replace(GOOD, path="/admin/id", cache_status="varnish; fwd=bypass"),
        replace(GOOD, path="/media/video/a.jpg", cache_status=""),
    ],
)
def test_a_promised_response_has_no_fault(response: Response) -> None:
    assert response_fault(response) is None


@pytest.mark.parametrize(
    ("response", "fault"),
    [
        (replace(GOOD, status=404), "/media/a.svg: status 404"),
        (replace(GOOD, status=302), "/media/a.svg: status 302"),
        # The request was unconditional.
        (replace(GOOD, status=304, length=0), "/media/a.svg: status 304"),
        (replace(GOOD, length=0), "/media/a.svg: empty body"),
        (replace(GOOD, differs=True), "/media/a.svg: the body has changed, but its ETag has not"),
        (replace(GOOD, cache_status=FORWARDED), f"{COLD}varnish; fwd=uri-miss; stored"),
        (replace(GOOD, cache_status=""), f"{COLD}(missing)"),
        (replace(GOOD, status=304, conditional=True, cache_status="cdn; fwd"), f"{COLD}cdn; fwd"),
        (replace(GOOD, path="/ws"), "/ws: answered by a cache that must pass it, Cache-Status: varnish; hit"),
    ],
)
def test_a_broken_promise_is_named(response: Response, fault: str) -> None:
    assert response_fault(response) == fault


def test_a_player_has_the_name_that_signed_in_and_may_act() -> None:
    ann = {"player": "ann", "key": "1", "canAct": "True"}
    assert player_fault(ann, "ann") is None
    assert player_fault(ann, "bob") == "signed in, but the identity is not this player's"
    assert player_fault({**ann, "canAct": "False"}, "ann") == "signed in, but this player may not act"


def policy(domain: str, ports: str) -> bytes:
    grant = f'<allow-access-from domain="{domain}" to-ports="{ports}"/>'
    return f'<?xml version="1.0"?><cross-domain-policy>{grant}</cross-domain-policy>'.encode()


@pytest.mark.parametrize("domain", ["*", "*.localhost", "upstage.localhost"])
@pytest.mark.parametrize("ports", ["7230", "*", "80, 7000-8000", "7230-7230"])
def test_a_policy_that_allows_the_stage_has_no_fault(domain: str, ports: str) -> None:
    assert policy_fault(policy(domain, ports), "upstage.localhost") is None


@pytest.mark.parametrize(
    ("domain", "ports"),
    [
        *(("localhost", "7230"), ("*.stage.localhost", "7230"), ("", "*")),
        *(("*.localhost", ports) for ports in ("7231", "80,7231-7240", "", "all")),
    ],
)
def test_a_policy_that_does_not_allow_the_stage_is_a_fault(domain: str, ports: str) -> None:
    fault = policy_fault(policy(domain, ports), "upstage.localhost")
    assert fault == "the policy does not allow upstage.localhost to connect to port 7230"


def test_other_documents_are_no_policy() -> None:
    assert policy_fault(b"<html/>", "x") == "the policy is XML, but no socket policy"
    for junk in (b"", b"404", b"<cross-domain-policy>", b'<?xml version="1.0" encoding="no"?><a/>'):
        assert policy_fault(junk, "x") == "the policy is not XML"


def test_the_shipped_policy_allows_the_stage() -> None:
    shipped = (Path(__file__).parents[2] / "policyd" / "flashpolicy.xml").read_bytes()
    assert policy_fault(shipped, "upstage.localhost") is None
    assert policy_fault(shipped, "elsewhere.example") is not None
