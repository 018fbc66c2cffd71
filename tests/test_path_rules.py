"""Each tool contains the rules for paths once, and they decide as docs/caching-rules.toml says."""

import re
import tomllib

import pytest

from tests.stack import REPO
from users.paths import passed, stored

RULES = tomllib.loads((REPO / "docs" / "caching-rules.toml").read_text())["path"]
PASSED, CACHED = (rule["folders"] for rule in RULES)
ENDINGS = RULES[1]["endings"]


def expected(path: str) -> str:
    """Return the rule of the table for a path without a query."""
    if f"{path}/".startswith(tuple(PASSED)):
        return "passed"
    if path.startswith(tuple(CACHED)) or path.endswith(tuple(f".{ending}" for ending in ENDINGS)):
        return "cached"
    return "other"


def in_varnish(url: str) -> str:
    """Return the rule that Varnish's patterns choose."""
    patterns = {
        rule: re.findall(r'req\.url ~ "(.*?)"', (REPO / "varnish" / file).read_text())
        for rule, file in (("passed", "passed.vcl"), ("cached", "media.vcl"))
    }
    assert [len(found) for found in patterns.values()] == [1, 2]
    for rule, found in patterns.items():
        if any(re.search(pattern, url) for pattern in found):
            return rule
    return "other"


def in_loadtest(path: str) -> str:
    """Return the rule that the load test expects."""
    return "passed" if passed(path) else "cached" if stored(path) else "other"


PATHS = [
    *("/", "/stages/demo", "/media", "/mediaa/x", "/page.html", "/pagepng", "/x.pngx", "/x.svgz", "/x.txt"),
    *("/private.html/x.png", "/style/1.0/main.css", "/media/video.jpg"),
    *(path for folder in PASSED for path in (folder, folder[:-1], f"{folder}x.png")),
    *(f"{folder[:-1]}istrator" for folder in PASSED),
    *(f"{folder}x" for folder in CACHED),
    *(f"/page.{ending}" for ending in ENDINGS),
]


@pytest.mark.parametrize("path", PATHS)
def test_every_tool_follows_the_table(path: str) -> None:
    assert in_varnish(path) == expected(path)
    assert in_varnish(f"{path}?q=/x.png") == expected(path)
    assert in_loadtest(path) == expected(path)


def test_no_tool_has_more_endings_than_the_table() -> None:
    """The samples above would not reveal a further ending."""
    (listed,) = re.findall(r"\\\.\((.*?)\)", (REPO / "varnish" / "media.vcl").read_text())
    assert sorted(listed.replace("jpe?g", "jpg|jpeg").split("|")) == sorted(ENDINGS)
    for file in (REPO / "nginx").glob("**/*.conf*"):
        assert "woff2" not in file.read_text(), f"{file} has its own list"
