"""Every line of the table of cases in docs/caching-rules.md, requested from the running stack."""

import re
import uuid
from dataclasses import dataclass

import pytest

from stack import REPO, Stack

PAGE = (REPO / "docs" / "caching-rules.md").read_text()
CACHED = ("localhost", "upstage.localhost", "classic.localhost")


@dataclass(frozen=True)
class Case:
    """One line of the table, for one host."""

    rule: str
    host: str
    method: str
    path: str
    headers: dict[str, str]
    status: int
    first: str
    then: str

    def __str__(self) -> str:
        return f"{self.rule}, {self.host}"


def cases() -> list[Case]:
    """Read the table under "The cases"."""
    table = PAGE.split("## The cases")[1]
    found = []
    for line in re.findall(r"^\| (?!rule |---)(.*) \|$", table, re.M):
        rule, host, request, header, status, first, then = (cell.strip() for cell in line.split("|"))
        method, path = request.split()
        headers = dict([header.split(": ")]) if header else {}
        for name in [host] if host else CACHED:
            found.append(Case(rule, name, method, path, headers, int(status), first, then))
    return found


def outcome(cache_status: str) -> str:
    """A Cache-Status header in the words of the table."""
    members = [member.strip() for member in cache_status.split(",")]
    varnish = members[0]
    if not varnish.startswith("varnish"):
        return "none"
    if members[1:] == ["nginx; hit"]:
        return "hit"
    if detail := re.search(r"detail=([\w-]+)", varnish):
        return detail[1]
    return "hit" if varnish.startswith("varnish; hit") else "miss"


def test_the_page_has_its_table() -> None:
    assert len(cases()) > 50


@pytest.mark.parametrize("case", cases(), ids=str)
@pytest.mark.smoke
def test_case(stack: Stack, case: Case) -> None:
    path = case.path.replace("NEW", uuid.uuid4().hex)
    for expected in (case.first, case.then):
        answer = stack.get(path, case.host, case.method, case.headers)
        assert answer.status_code == case.status, answer.text
        assert outcome(answer.headers.get("Cache-Status", "")) == expected, answer.headers
