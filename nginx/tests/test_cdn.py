"""A cache in front: the media that it may keep, and their purge through the whole chain."""

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from nginx.tests.nginx_server import NginxServer
from tests.support.checks import REPO
from tests.support.http import Response, request
from tests.support.origin import Origin, response
from tests.support.ports import free_ports
from tests.support.program import PATH, Program
from varnish.tests.python.varnish_server import QUICK, VARNISH, VarnishServer

SETTINGS = {"CDN": "on"}
TAGS = "media medium-a-png"
MEDIUM = {"cache_control": "public, no-cache", "x_cache_tags": TAGS}


def kept(got: Response) -> tuple[str | None, str | None]:
    """Return the response's headers for caches: the lifetime and the tags."""
    return got.headers.get("cdn-cache-control"), got.headers.get("x-cache-tags")


@pytest.mark.parametrize("status", ["200 OK", "206 Partial Content", "304 Not Modified"])
def test_caches_in_front_may_keep_media(server: NginxServer, status: str) -> None:
    server.respond_all(lambda _: response(status=status, **MEDIUM))
    got = server.request("/media/a.png")
    assert kept(got) == ("max-age=43200", TAGS)
    assert got.headers["cache-control"] == "public, no-cache"


def test_also_those_that_nginx_sends_from_the_disk(server: NginxServer) -> None:
    (server.media / "a.png").write_bytes(b"x" * 100_000)
    server.respond_all(lambda _: response(x_accel_redirect="/.nginx/media/a.png", **MEDIUM))
    assert kept(server.request("/media/a.png")) == ("max-age=43200", TAGS)


@pytest.mark.parametrize(
    ("path", "status", "tags"),
    [
        ("/stages/demo", "200 OK", ""),
        ("/lessons/", "200 OK", "lessons"),
        ("/admin/", "200 OK", ""),
        ("/media/a.png", "404 Not Found", TAGS),
        ("/media/a.png", "503 Service Unavailable", TAGS),
        ("/media/video/ann.jpg", "200 OK", "media medium-video-ann-jpg"),
    ],
)
def test_they_may_keep_nothing_else(server: NginxServer, path: str, status: str, tags: str) -> None:
    server.respond_all(lambda _: response(status=status, x_cache_tags=tags))
    assert kept(server.request(path)) == (None, None)


def test_they_may_not_keep_nginx_s_copy_of_this_second(server: NginxServer) -> None:
    """A purge does not reach that copy."""
    server.respond_all(
        lambda _: response(x_accel_expires="@9999999999", cache_status="varnish; hit", **MEDIUM)
    )
    responses = [server.request("/media/copy.png") for _ in "12"]
    assert [each.headers["cache-status"] for each in responses] == [
        "varnish; hit, nginx; fwd=uri-miss",
        "varnish; hit, nginx; hit",
    ]
    assert [kept(each)[0] for each in responses] == ["max-age=43200", None]


def test_without_the_setting_no_site_mentions_the_tags(fresh: NginxServer) -> None:
    fresh.start()
    fresh.respond_all(lambda _: response(**MEDIUM))
    for host in ("localhost", "classic.localhost", "nginx.localhost", "static.localhost"):
        assert kept(fresh.request("/media/a.png", host)) == (None, None), host


class Chain:
    """A Varnish with the page's VCL, in front of nginx, Varnish and a backend with one file."""

    def __init__(self, address: tuple[str, int], purges: list[int], backend: Origin) -> None:
        self.address, self.purges, self.backend = address, purges, backend

    def file(self) -> tuple[str, bool, Response]:
        """Return the file, whether the Varnish in front had a copy of it, and the response."""
        got = request(self.address, "/media/a.png", "localhost", "GET", b"", "", cookie="who=me")
        return got.text, len(got.headers["x-varnish"].split()) == 2, got

    def purge(self) -> None:
        for port in self.purges:
            purged = request(("127.0.0.1", port), "/", "x", "PURGE", b"", "", x_cache_tags="medium-a-png")
            assert purged.status == 200


@contextmanager
def chain(**settings: str) -> Iterator[Chain]:
    page = (REPO / "docs" / "several-machines.md").read_text()
    [vcl] = re.findall(r"^```vcl\n(.*?)^```", page.split("\n## A CDN in front\n")[1], re.M | re.S)
    port, purge = free_ports(2)
    with ExitStack() as stack:
        varnish = stack.enter_context(VarnishServer())
        varnish.folder.chmod(0o755)  # nginx's workers run as another user
        varnish.start()
        nginx = stack.enter_context(NginxServer(VARNISH_ADDRESS=f"unix:{varnish.socket}", **settings))
        nginx.start()
        for there, here in ("192.0.2.1", nginx.address), ("8080", str(nginx.public)):
            assert vcl.count(f'"{there}"') == 1
            vcl = vcl.replace(there, here)
        (nginx.folder / "front.vcl").write_text(vcl)
        command = ["varnishd", "-F", "-j", "none", "-p", QUICK, "-n", str(nginx.folder / "front")]
        command += ["-f", str(nginx.folder / "front.vcl"), "-p", f"vcl_path={VARNISH.parent}"]
        command += ["-a", f"http=127.0.0.1:{port}", "-a", f"purge=127.0.0.1:{purge}"]
        front = Program(command, {"PATH": PATH}, nginx.folder / "front.log")
        stack.callback(front.stop)
        made = Chain(("127.0.0.1", port), [varnish.purge_port, purge], varnish.backend)
        varnish.backend.respond = lambda _: response("old", **MEDIUM)
        front.wait_for(lambda: request(made.address, "/x").status > 0)
        yield made


def test_by_default_a_varnish_in_front_stores_no_medium() -> None:
    with chain() as made:
        assert [made.file()[:2] for _ in "123"] == [("old", False)] * 3


def test_with_the_setting_it_keeps_media_until_they_are_purged_by_tag() -> None:
    with chain(**SETTINGS) as made:
        assert [made.file()[:2] for _ in "12"] == [("old", False), ("old", True)]
        got = made.file()[2]
        assert got.headers["cache-control"] == "public, no-cache"
        assert "x-cache-tags" not in got.headers
        made.backend.respond = lambda _: response("new", **MEDIUM)
        assert made.file()[:2] == ("old", True)
        made.purge()
        assert [made.file()[:2] for _ in "12"] == [("new", False), ("new", True)]
