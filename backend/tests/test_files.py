"""Static files over a real socket: versions, ranges, validators."""

import os
import re
import shutil
from pathlib import Path

import pytest

from backend.tests.forked import SRC
from backend.tests.running_backend import Backend, ask
from upstage.web.templates import Pages

SITE = SRC / "upstage/site"


def test_assets_of_a_version_never_change(server: Backend) -> None:
    page = ask(server, "/stages/demo").body.decode()
    [version] = set(re.findall(r"/script/([0-9a-f]{12})/", page))
    assert f"/script/{version}/wire.js" in page
    for path in (f"/script/{version}/wire.js", f"/style/{version}/main.css"):
        response = ask(server, path)
        assert response.status == 200
        assert response.headers["cache-control"] == "public, max-age=31536000, immutable"


def test_a_stage_page_preloads_the_scripts_that_it_runs() -> None:
    runs, waiting = set[str](), {"main.js"}
    while waiting:
        runs.add(name := waiting.pop())
        waiting |= {*re.findall(r'"\./([^"]+)";$', (SITE / "script" / name).read_text(), re.M)} - runs
    assert len(runs) > 20
    assert {url.rpartition("/")[2] for url in Pages(SITE).modules} == runs


def test_a_release_with_other_assets_has_another_version(tmp_path: Path) -> None:
    site = shutil.copytree(SITE, tmp_path / "site")
    [first] = {Pages(site).version, Pages(site).version}
    os.utime(site / "style/main.css", (0, 0))
    (site / "templates/index.html").write_text("not an asset")
    assert Pages(site).version == first
    versions = {first}
    for name in ("style/main.css", "script/wire.js", "image/favicon.svg", "image/new.svg"):
        (site / name).write_text("other")
        versions.add(Pages(site).version)
    (site / "image/new.svg").rename(site / "image/old.svg")
    assert len(versions | {Pages(site).version}) == 6


LITERAL = re.compile(r"""["'(]/(script|style|image)/""")


@pytest.mark.parametrize("path", [path.relative_to(SITE).as_posix() for path in SITE.rglob("*.*")])
def test_assets_refer_to_assets_of_their_own_release(path: str) -> None:
    """An asset names others by relative URLs, which stay below the same version, or by `asset()`."""
    text = (SITE / path).read_text()
    assert not LITERAL.search(text)
    if path.endswith(".js"):
        imports = re.findall(r"""^(?:import|export)\b[^;=]*?["']([^"']+)["'];""", text, re.MULTILINE)
        assert len(imports) == len(re.findall(r"^import\b", text, re.MULTILINE))
        assert all((SITE / path).parent.joinpath(name).is_file() for name in imports)
        assert all(name.startswith("./") for name in imports)
        # A page that was open before a release has loaded all its scripts; it could not fetch one later.
        assert "import(" not in text
    if path.endswith(".css"):
        assert "@import" not in text
        assert "url(" not in text


def test_the_stage_page_lists_the_files_that_a_browser_will_load(server: Backend) -> None:
    page = ask(server, "/stages/demo").text
    assert '<link rel="preload" as="image" href="/media/fox.svg">' in page
    assert '<link rel="prefetch" href="/media/audio/curtain-bell.mp3">' in page


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
def test_a_range_of_a_file_is_served(server: Backend, value: str, status: int, span: tuple[int, int]) -> None:
    whole = (server.media / "bench" / "small.swf").read_bytes()
    response = ask(server, "/media/bench/small.swf", Range=value)
    assert response.status == status
    assert response.body == whole[slice(*span)]
    if status == 206:
        assert response.headers["content-range"] == f"bytes {span[0]}-{span[1] - 1}/75000"
    if status == 416:
        assert response.headers["content-range"] == "bytes */75000"


def test_a_large_file_is_left_to_a_proxy_that_has_it(server: Backend) -> None:
    for path, location in (
        ("/media/bench/big.swf", "/disk/media/bench/big.swf"),
        ("/media/thumb/bench/big.swf", "/disk/media/bench/big.swf"),  # every picture is its own thumbnail
    ):
        response = ask(server, path, X_Accel_Media="/disk/media")
        assert (response.status, response.body) == (200, b"")
        assert response.headers["x-accel-redirect"] == location
        assert response.headers["vary"] == "X-Accel-Media"
        assert response.headers["content-type"] == "application/x-shockwave-flash"
        assert response.headers["x-cache-tags"] == "media medium-bench-big-swf"
    unchanged = ask(server, path, X_Accel_Media="/disk/media", If_None_Match=response.headers["etag"])
    assert (unchanged.status, unchanged.headers["vary"]) == (304, "X-Accel-Media")


@pytest.mark.parametrize(
    ("path", "location"),
    [
        ("/media/bench/big.swf", ""),
        ("/media/bench/big.swf", "elsewhere"),
        ("/media/bench/big.swf", "/a b"),
        ("/media/bench/big.swf", "//evil.example"),
        ("/media/bench/small.swf", "/disk/media"),
        ("/style/main.css", "/disk/media"),
    ],
)
def test_any_other_file_is_sent_by_the_backend(server: Backend, path: str, location: str) -> None:
    response = ask(server, path, X_Accel_Media=location)
    assert "x-accel-redirect" not in response.headers
    assert int(response.headers["content-length"]) == len(response.body) > 0
    assert ("vary" in response.headers) == path.endswith("big.swf")


def test_validators_decide_between_200_206_and_304(server: Backend) -> None:
    path = "/media/bench/small.swf"
    first = ask(server, path)
    etag, modified = first.headers["etag"], first.headers["last-modified"]
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
        ({"If_None_Match": etag, "If_Modified_Since": old}, 304),
        ({"If_Match": f'"x", {etag}', "If_Unmodified_Since": old}, 200),
        ({"If_Match": "*"}, 200),
        ({"If_Match": '"x"', "If_None_Match": etag}, 412),
        ({"If_Match": f"W/{etag}"}, 412),
        ({"If_Unmodified_Since": old}, 412),
        ({"If_Unmodified_Since": modified}, 200),
        ({"If_Unmodified_Since": "yesterday"}, 200),
        ({"Range": "BYTES=0-9", "If_Match": etag}, 206),
        ({"Range": "bytes=0-9", "If_Match": '"x"'}, 412),
        ({"Range": "bytes=0-9", "If_Range": etag}, 206),
        ({"Range": "bytes=0-9", "If_Range": modified}, 206),
        ({"Range": "bytes=0-9", "If_Range": '"x"'}, 200),
    ):
        response = ask(server, path, **headers)
        assert response.status == status, headers
        assert response.headers["etag"] == etag
        if status == 304:
            assert response.body == b""
            assert response.headers["cache-control"] == "public, no-cache"
            assert "content-length" not in response.headers
