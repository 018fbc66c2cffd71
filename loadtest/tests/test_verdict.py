from dataclasses import replace

import pytest

from visitors.verdict import Answer, answer_fault, identity_fault, stage_fault

GOOD = Answer(
    path="/media/a.svg",
    status=200,
    length=100,
    cache_status="varnish; hit; ttl=43190",
    conditional=False,
    warm=True,
)
FORWARDED = "varnish; fwd=uri-miss; ttl=7; stored"


@pytest.mark.parametrize(
    "answer",
    [
        GOOD,
        replace(GOOD, status=304, length=0, conditional=True),
        replace(GOOD, cache_status=FORWARDED, warm=False),
        # nginx repeats an answer that Varnish had to fetch: a cache had it.
        replace(GOOD, cache_status=f"{FORWARDED}, nginx; hit"),
        replace(GOOD, cache_status="varnish; hit; detail=stale, nginx; fwd=bypass"),
        replace(GOOD, path="/stages/demo", cache_status=FORWARDED),
        replace(GOOD, path="/admin/id", cache_status="varnish; fwd=bypass"),
    ],
)
def test_what_the_stack_promises(answer: Answer) -> None:
    assert answer_fault(answer) is None


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (replace(GOOD, status=404), "/media/a.svg: status 404"),
        (replace(GOOD, status=302), "/media/a.svg: status 302"),
        # Nobody asked whether it had changed.
        (replace(GOOD, status=304, length=0), "/media/a.svg: status 304"),
        (replace(GOOD, length=0), "/media/a.svg: empty body"),
        (
            replace(GOOD, cache_status=FORWARDED),
            "/media/a.svg: not a hit after warm-up, Cache-Status: varnish; fwd=uri-miss; stored",
        ),
        (
            replace(GOOD, cache_status=""),
            "/media/a.svg: not a hit after warm-up, Cache-Status: (missing)",
        ),
        (
            replace(GOOD, status=304, conditional=True, cache_status="varnish; fwd=bypass"),
            "/media/a.svg: not a hit after warm-up, Cache-Status: varnish; fwd=bypass",
        ),
        (replace(GOOD, cache_status="varnish; hit,"), "/media/a.svg: malformed Cache-Status"),
        (
            replace(GOOD, path="/admin/id"),
            "/admin/id: a cache answered what it must pass, Cache-Status: varnish; hit",
        ),
    ],
)
def test_what_it_does_not(answer: Answer, fault: str) -> None:
    assert answer_fault(answer) == fault


def test_a_stage_without_media_is_empty() -> None:
    home = "http://127.0.0.1:8000"
    assert stage_fault([f"{home}/style/v/main.css", f"{home}/media/a.svg"]) is None
    assert stage_fault([f"{home}/style/v/main.css"]) == "the stage page names no media"
    assert stage_fault([]) == "the stage page names no media"


def test_an_identity_has_all_its_fields() -> None:
    assert identity_fault("player=&key=1&canAct=&canAdmin=&canSu=") is None
    assert identity_fault("player=a&key=1&canAct=") == "the identity lacks canAdmin, canSu"
    assert identity_fault("<html>Log in</html>") == (
        "the identity lacks canAct, canAdmin, canSu, key, player"
    )
