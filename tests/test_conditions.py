"""A file gives the same response to a conditional request or a range on every path.

On the default host, a cookie chooses another path, past nginx's own copies.
test_your_application.py tests the same for an application of your own.
"""

import uuid

import pytest

from tests.conditions import differences, rows
from tests.stack import SITES, Stack

PATHS = [*((host, {}) for host in (*SITES, "direct.localhost")), ("localhost", {"Cookie": "who=me"})]
# A small file, one that nginx reads from the disk, one that is compressed.
FILES = ("bench/small.swf", "bench/big.swf", "fox.svg")


def test_the_page_has_its_table() -> None:
    assert len(rows()) > 30


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize(("host", "cookie"), PATHS)
def test_every_line_of_the_table(stack: Stack, host: str, file: str, cookie: dict[str, str]) -> None:
    path = f"/media/{file}?{uuid.uuid4().hex}"
    plain = {"Accept-Encoding": "gzip"} | cookie
    assert list(differences(lambda method, fields: stack.get(path, host, method, fields | plain))) == []
