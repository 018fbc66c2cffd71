"""A file gives the same answer to a conditional request or a range on every path.

test_your_site.py asks the same of a site of one's own.
"""

import uuid

import pytest

from tests.conditions import differences, rows
from tests.stack import SITES, Stack

FILES = ("bench/small.swf", "bench/big.swf", "fox.svg")  # small, from the disk of nginx, compressed


def test_the_page_has_its_table() -> None:
    assert len(rows()) > 30


@pytest.mark.parametrize("cookie", [{}, {"Cookie": "who=me"}], ids=["visitor", "cookie"])
@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("host", [*SITES, "direct.localhost"])
def test_every_line_of_the_table(stack: Stack, host: str, file: str, cookie: dict[str, str]) -> None:
    path = f"/media/{file}?{uuid.uuid4().hex}"
    plain = {"Accept-Encoding": "gzip"} | cookie
    assert list(differences(lambda method, fields: stack.get(path, host, method, fields | plain))) == []
