"""Every case of docs/caching-rules.toml, requested from the running stack.

Natively, `make test` runs only the cases that name a host: each site once. Both modes have the same rules.
"""

import re
import uuid

import pytest

from lessons.checking.rules import HOSTS, Case, cases
from tests.stack import Stack

CASES = list(cases(HOSTS))
OF_ONE_HOST = list(cases(()))


def outcome(cache_status: str) -> str:
    """Return a Cache-Status header in the words of the table."""
    members = [member.strip() for member in cache_status.split(",")]
    varnish = members[0]
    if not varnish.startswith("varnish"):
        return "none"
    if members[1:] == ["nginx; hit"]:
        return "hit"
    if detail := re.search(r"detail=([\w-]+)", varnish):
        return detail[1].replace("hit-for-miss", "miss")
    return "hit" if varnish.startswith("varnish; hit") else "miss"


def test_the_page_has_its_table() -> None:
    assert len(CASES) > len(OF_ONE_HOST) > 5


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=[pytest.mark.smoke] * (case in OF_ONE_HOST), id=str(case)) for case in CASES],
)
def test_case(stack: Stack, case: Case) -> None:
    path = case.ask.url.replace("NEW", uuid.uuid4().hex)
    for expected in case.outcomes:
        response = stack.get(path, case.ask.host, case.ask.method, case.ask.headers)
        assert response.status_code == case.status, response.text
        assert outcome(response.headers.get("Cache-Status", "")) == expected, response.headers
