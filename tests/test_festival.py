"""The stage `festival` through the stack: every file arrives, and the caches have room for all of them."""

import json
import re

import pytest

from tests.stack import Stack

PATTERN = re.compile(r"/media/festival-[a-z0-9-]+\.png")
LARGE = 80 << 10  # bytes; nginx reads larger media from the disk (nginx/caching/large_media.conf)


@pytest.fixture
def files(stack: Stack) -> list[str]:
    """Return the pictures that the stage page names."""
    return sorted(set(PATTERN.findall(stack.get("/stages/festival").text)))


def test_a_visit_is_heavy(stack: Stack, files: list[str]) -> None:
    """Every file is fetched twice; the second time nothing reaches the backend."""
    assert len(files) == 56
    for host in ("localhost", "classic.localhost"):
        for warm in (False, True):
            responses = {file: stack.get(file, host) for file in files}
            assert {each.status_code for each in responses.values()} == {200}
            assert sum(len(each.content) for each in responses.values()) == 14 * 1_300_000 + 42 * 75_000
            for file, response in responses.items():
                status = response.headers["Cache-Status"]
                assert not warm or "hit" in status, (file, status)
                if host == "localhost":
                    assert ("detail=disk" in status) is (len(response.content) > LARGE), (file, status)
    if stack.mode == "containers":
        nuked = ("exec", "-T", "varnish", "varnishstat", "-n", "/var/lib/varnish/varnishd", "-j")
        counters = json.loads(stack.compose(*nuked))["counters"]
        assert counters["MAIN.n_lru_nuked"]["value"] == 0
