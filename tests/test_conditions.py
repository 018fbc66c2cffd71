"""A file gives the same response to a conditional request or a range on every path.

Only on the default host does a cookie choose another one: past nginx's own copies.
test_your_application.py asks the same of an application of one's own.
"""

import uuid

import pytest

from tests.conditions import differences, rows
from tests.stack import SITES, Stack

PATHS = [*((host, {}) for host in (*SITES, "direct.localhost")), ("localhost", {"Cookie": "who=me"})]
FILES = ("bench/small.swf", "bench/big.swf", "fox.svg")  # small, from the disk of nginx, compressed


def test_the_page_has_its_table() -> None:
    assert len(rows()) > 30


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize(("host", "cookie"), PATHS)
def test_every_line_of_the_table(stack: Stack, host: str, file: str, cookie: dict[str, str]) -> None:
    path = f"/media/{file}?{uuid.uuid4().hex}"
    plain = {"Accept-Encoding": "gzip"} | cookie
    assert list(differences(lambda method, fields: stack.get(path, host, method, fields | plain))) == []
