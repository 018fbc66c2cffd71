"""The paths of a foreign site: from a list, an access log and a HAR file."""

import json
from pathlib import Path

import pytest

import walk

LOG = """127.0.0.1 - - [25/Nov/2026:10:00:00 +0000] "GET /a?b=1 HTTP/1.1" 200 12 "-" "curl"
192.0.2.1 "GET /c HTTP/2.0" app.localhost 200 5 0.001s cache="nginx; hit" at=1.0 id=ab
127.0.0.1 - - [25/Nov/2026:10:00:01 +0000] "POST /login HTTP/1.1" 302 0 "-" "curl"
"""


def har(*requests: tuple[str, str]) -> str:
    entries = [{"request": {"method": method, "url": url}} for method, url in requests]
    return json.dumps({"log": {"entries": entries}})


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("# what people read\n\n/\n/about?x=1\n/\n", ["/", "/about?x=1", "/"]),
        ("https://shop.example/a?b#c\nhttp://shop.example\n", ["/a?b", "/"]),
        (LOG, ["/a?b=1", "/c"]),
        (har(("GET", "http://a/x?y"), ("POST", "http://a/l"), ("GET", "http://cdn/z")), ["/x?y"]),
    ],
    ids=["list", "addresses", "log", "har"],
)
def test_the_paths_of_a_file(tmp_path: Path, text: str, paths: list[str]) -> None:
    file = tmp_path / "paths"
    file.write_text(text)
    assert walk.read(file) == paths


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no path"),
        ("# nothing\n", "has no path"),
        ("/\nabout us\n", "line 2 is neither a path nor of an access log$"),
        ("{}", "not a HAR file$"),
    ],
)
def test_a_file_without_paths(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "paths"
    file.write_text(text)
    with pytest.raises(ValueError, match=message):
        walk.read(file)


def test_a_device_is_not_read() -> None:
    with pytest.raises(ValueError, match="zero is not a file"):
        walk.read(Path("/dev/zero"))


def test_the_page_names_a_file_of_one_folder() -> None:
    file = str(walk.MINE / "paths.txt")
    assert walk.file_of_page("paths.txt") == walk.file_of_page(file) == file
