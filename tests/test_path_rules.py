"""Each tool has the rules for paths once, and they decide as the table in docs/caching-rules.md says."""

import re

import pytest

from tests.stack import REPO
from users.paths import passed, stored

ROWS = re.findall(
    r"^\| (passed|cached).*?\|(.*?)\|(.*?)\|$",
    (REPO / "docs" / "caching-rules.md").read_text().split("## The paths")[1].split("## The cases")[0],
    re.M,
)
FOLDERS = {rule: re.findall(r"`(\S+)`", folders) for rule, folders, _ in ROWS}
ENDINGS = {rule: re.findall(r"`(\S+)`", endings) for rule, _, endings in ROWS}


def expected(path: str) -> str:
    """The rule of the table for a path without a query."""
    if f"{path}/".startswith(tuple(FOLDERS["passed"])):
        return "passed"
    if path.startswith(tuple(FOLDERS["cached"])) or path.endswith(
        tuple(f".{ending}" for ending in ENDINGS["cached"])
    ):
        return "cached"
    return "other"


def in_varnish(url: str) -> str:
    """The rule that Varnish's patterns choose."""
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
    """The rule that the load test expects."""
    return "passed" if passed(path) else "cached" if stored(path) else "other"


PATHS = [
    *("/", "/stages/demo", "/media", "/mediaa/x", "/page.html", "/pagepng", "/x.pngx", "/x.svgz", "/x.txt"),
    *("/private.html/x.png", "/style/1.0/main.css", "/media/video.jpg"),
    *(path for folder in FOLDERS["passed"] for path in (folder, folder[:-1], f"{folder}x.png")),
    *(f"{folder[:-1]}istrator" for folder in FOLDERS["passed"]),
    *(f"{folder}x" for folder in FOLDERS["cached"]),
    *(f"/page.{ending}" for ending in ENDINGS["cached"]),
]


@pytest.mark.parametrize("path", PATHS)
def test_every_tool_follows_the_table(path: str) -> None:
    assert in_varnish(path) == expected(path)
    assert in_varnish(f"{path}?q=/x.png") == expected(path)
    assert in_loadtest(path) == expected(path)


def test_no_tool_has_more_endings_than_the_table() -> None:
    """An ending that no sample above has would go unnoticed."""
    (listed,) = re.findall(r"\\\.\((.*?)\)", (REPO / "varnish" / "media.vcl").read_text())
    assert sorted(listed.replace("jpe?g", "jpg|jpeg").split("|")) == sorted(ENDINGS["cached"])
    for file in (REPO / "nginx").glob("**/*.conf*"):
        assert "woff2" not in file.read_text(), f"{file} has its own list"
