"""Static files over a real socket: versions, ranges, validators."""

import re

import pytest

from theatre import Server, ask


def test_assets_of_a_version_never_change(server: Server) -> None:
    page = ask(server, "/stages/demo").body.decode()
    [version] = set(re.findall(r"/script/([0-9a-f]{12})/", page))
    assert f"/script/{version}/lib/wire.js" in page
    for path in (f"/script/{version}/lib/wire.js", f"/style/{version}/main.css"):
        answer = ask(server, path)
        assert answer.status == 200
        assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"


def test_the_stage_page_names_what_a_browser_will_load(server: Server) -> None:
    page = ask(server, "/stages/demo").body.decode().replace("&#39;", "'")
    for url, kind in (("/media/ann.svg", "image"), ("/media/audio/bell.mp3", "audio")):
        assert f"{{'url': '{url}', 'kind': '{kind}'}}" in page


@pytest.mark.parametrize(
    ("value", "status", "span"),
    [
        ("bytes=0-99", 206, (0, 100)),
        ("bytes=74990-", 206, (74990, 75000)),
        ("bytes=74990-999999", 206, (74990, 75000)),
        ("bytes=-10", 206, (74990, 75000)),
        ("bytes=-999999", 206, (0, 75000)),
        ("bytes=0-", 206, (0, 75000)),
        ("bytes=75000-", 416, (0, 0)),
        ("bytes=-0", 416, (0, 0)),
        ("bytes=9-5", 200, (0, 75000)),
        ("bytes=0-1,5-6", 200, (0, 75000)),
        ("bytes=-", 200, (0, 75000)),
        ("lines=1-2", 200, (0, 75000)),
        ("bytes=" + "9" * 5000 + "-", 200, (0, 75000)),
        ("bytes=\xff", 200, (0, 75000)),
    ],
)
def test_ranges(server: Server, value: str, status: int, span: tuple[int, int]) -> None:
    whole = (server.media / "bench" / "small.swf").read_bytes()
    answer = ask(server, "/media/bench/small.swf", Range=value)
    assert answer.status == status
    assert answer.body == whole[slice(*span)]
    if status == 206:
        assert answer.headers["Content-Range"] == f"bytes {span[0]}-{span[1] - 1}/75000"
    if status == 416:
        assert answer.headers["Content-Range"] == "bytes */75000"


def test_validators(server: Server) -> None:
    path = "/media/bench/small.swf"
    first = ask(server, path)
    etag, modified = first.headers["ETag"], first.headers["Last-Modified"]
    assert etag.startswith('"')
    old = "Thu, 01 Jan 1998 00:00:00 GMT"
    for headers, status in (
        ({"If_None_Match": etag}, 304),
        ({"If_None_Match": f'"x", W/{etag}'}, 304),
        ({"If_None_Match": "*"}, 304),
        ({"If_None_Match": '"x"'}, 200),
        ({"If_Modified_Since": modified}, 304),
        ({"If_Modified_Since": old}, 200),
        ({"If_Modified_Since": "yesterday"}, 200),
        ({"If_None_Match": '"x"', "If_Modified_Since": modified}, 200),
        ({"Range": "bytes=0-9", "If_Range": etag}, 206),
        ({"Range": "bytes=0-9", "If_Range": modified}, 206),
        ({"Range": "bytes=0-9", "If_Range": '"x"'}, 200),
    ):
        answer = ask(server, path, **headers)
        assert answer.status == status, headers
        assert answer.headers["ETag"] == etag
        if status == 304:
            assert answer.body == b""
            assert answer.headers["Cache-Control"] == "public, no-cache"
            assert "Content-Length" not in answer.headers
