"""Responses on the published port. (The caching rules: test_caching_rules.py.)"""

import pytest

from tests.stack import Stack


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("path", "size"),
    [
        ("/media/bench/tiny.html", 5_000),  # kept by nginx and by Varnish
        ("/media/bench/small.swf", 75_000),
        ("/media/bench/big.swf", 1_300_000),  # Varnish keeps the file's name, nginx reads the file
    ],
)
def test_a_hit_is_byte_for_byte_the_file(stack: Stack, path: str, size: int) -> None:
    original = stack.get(path, "nginx.localhost").content
    assert len(original) == size
    for host in ("localhost", "classic.localhost"):
        for _ in range(2):
            response = stack.get(path, host)
        assert "varnish; hit; ttl=" in response.headers["Cache-Status"]
        assert response.content == original
