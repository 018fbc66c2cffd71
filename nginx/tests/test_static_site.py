"""static.localhost: nginx serves the media from the disk, as the backend would."""

import re
from pathlib import Path
from typing import Any

import pytest

from nginx.tests.nginx_server import NginxServer
from tests.support.origin import response

HOST = "static.localhost"
KINDS = {
    "a.png": "image/png",
    "b.svg": "image/svg+xml",
    "c.mp3": "audio/mpeg",
    "d.html": "text/html; charset=utf-8",
    "e.swf": "application/x-shockwave-flash",
    "f.txt": "text/plain; charset=utf-8",
    "audio/g.ogg": "audio/ogg",
    "bench/h.gif": "image/gif",
    "i.xyz": "application/octet-stream",
}


@pytest.fixture(scope="module", autouse=True)
def media(server: NginxServer) -> Path:
    """Make a media folder with files that may be served, and files that must not be."""
    folder = server.media
    for name in KINDS:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(name * 500)
    for name in (".upload-1.png", ".hidden/x.png", "audio/.x.png", "video/me.jpg", "closed.png"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("SECRET")
    (folder / "closed.png").chmod(0)
    (server.folder / "outside.png").write_text("SECRET")
    (server.folder / "outside").mkdir()
    (server.folder / "outside" / "x.png").write_text("SECRET")
    (folder / "link.png").symlink_to(server.folder / "outside.png")
    (folder / "linked").symlink_to(server.folder / "outside")
    return folder


@pytest.fixture(autouse=True)
def backend_says_404(server: NginxServer, forget: None) -> None:
    """Answer as the real backend does for an unknown file."""
    server.backend.respond = lambda _: response("the backend's page", "404 Not Found")


@pytest.mark.parametrize(("path", "kind"), [*KINDS.items(), ("thumb/a.png", "image/png")])
def test_media_come_from_the_disk_with_the_backends_headers(
    server: NginxServer, path: str, kind: str
) -> None:
    got = server.request(f"/media/{path}?v=1", HOST)
    assert got.status == 200
    assert got.text == path.removeprefix("thumb/") * 500
    assert got.headers["content-type"] == kind
    assert got.headers["cache-control"] == "public, no-cache"
    assert "sandbox" in got.headers["content-security-policy"]
    assert got.headers["x-content-type-options"] == "nosniff"
    assert got.headers["x-request-id"]
    assert 'nginx;desc="disk"' in got.headers["server-timing"]
    assert server.backend.requests == []


def test_validators_and_ranges(server: NginxServer) -> None:
    whole = server.request("/media/a.png", HOST)
    tag, date = whole.headers["etag"], whole.headers["last-modified"]
    assert server.request("/media/a.png", HOST, if_none_match=tag).status == 304
    for since in (date, "Fri, 01 Jan 2100 00:00:00 GMT"):  # by default nginx requires the exact date
        assert server.request("/media/a.png", HOST, if_modified_since=since).status == 304
    part = server.request("/media/a.png", HOST, range="bytes=0-6")
    assert (part.status, part.text) == (206, whole.text[:7])
    assert server.backend.requests == []
    left: tuple[dict[str, Any], ...] = (
        {"if_none_match": tag, "if_modified_since": date},
        {"if_match": tag},
        {"if_unmodified_since": date},
        {"range": "bytes=9-5"},
    )
    for fields in left:
        assert server.request("/media/a.png", HOST, **fields).text == "the backend's page"
    assert server.request("/media/a.png", HOST, "HEAD").headers["content-length"] == str(len(whole.body))


@pytest.mark.parametrize(
    "path",
    [
        *("/media/.upload-1.png", "/media/.hidden/x.png", "/media/audio/.x.png", "/media/link.png"),
        *("/media/linked/x.png", "/media/closed.png", "/media/missing.png", "/media/", "/media/audio"),
        *("/media/audio/", "/media/%2e%2e/outside.png", "/media/..%2foutside.png"),
        *("/media/x/../../outside.png", "/media/a.png%00.txt", "/media//outside.png"),
        *("/media/thumb/../../outside.png", "/media/video/me.jpg", "/media//video/me.jpg"),
        *("/media/./video/me.jpg", "/media/%76ideo/me.jpg", "/mediaa.png", "/media../outside.png"),
    ],
)
def test_anything_but_a_published_file_is_left_to_the_backend(server: NginxServer, path: str) -> None:
    got = server.request(path, HOST)
    assert "SECRET" not in got.text
    assert got.status in (400, 404)
    if got.status == 404:
        assert got.text == "the backend's page"
        assert not re.search(r"//|/\.\.?/|%", server.backend.requests[0].target)  # in one spelling


def test_other_methods_are_for_the_backend(server: NginxServer) -> None:
    for method in ("POST", "PUT", "DELETE"):
        assert server.request("/media/a.png", HOST, method).text == "the backend's page"


def test_the_media_folder_may_be_a_link_that_changes(fresh: NginxServer) -> None:
    """The link leads to the active server's media (extras/mirror), as for the default site's large media."""
    link_folder = fresh.folder / "control"
    link_folder.mkdir(mode=0o755)
    link = link_folder / "media"
    for name in ("one", "two"):
        (fresh.folder / name).mkdir(mode=0o755)
        (fresh.folder / name / "a.png").write_text(name)
    link.symlink_to(fresh.folder / "one")
    fresh.settings["MEDIA_FOLDER"] = str(link)
    fresh.start()
    fresh.varnish.respond = lambda _: response(x_accel_redirect="/.nginx/media/a.png")

    def texts() -> set[str]:
        return {fresh.request("/media/a.png", host).text for host in (HOST, "localhost")}

    assert texts() == {"one"}
    (link_folder / "new").symlink_to(fresh.folder / "two")
    (link_folder / "new").replace(link)
    assert texts() == {"two"}
    (fresh.folder / "two" / "a.png").unlink()
    # A link below it is not followed.
    (fresh.folder / "two" / "a.png").symlink_to(fresh.folder / "one" / "a.png")
    assert "one" not in texts()


def test_a_machine_without_the_media_says_so(fresh: NginxServer) -> None:
    """On such a machine, one of several, the other sites get large media from Varnish, too."""
    fresh.settings["MEDIA_FOLDER"] = "off"
    fresh.start()
    for path in ("/", "/media/a.png"):
        got = fresh.request(path, HOST)
        assert (got.status, "no copy of the media" in got.text) == (421, True)
    fresh.request("/media/a.png", "localhost")
    assert "x-accel-media" not in fresh.varnish.requests[-1].headers
