"""Your own application: the VCL that the scripts make from its settings, and why a response is not kept."""

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from logs.explaining import by_varnish
from logs.varnishlog import requests
from tests.support.comments import rendered, reworded
from tests.support.http import Address
from tests.support.origin import Request as Asked
from tests.support.origin import response
from tests.support.ports import free_ports
from tests.support.wait import wait_until
from varnish.tests.python.varnish_server import Backend, VarnishServer


@pytest.fixture
def site(fresh: VarnishServer, app: Backend) -> VarnishServer:
    """Return a Varnish with the site, not started yet."""
    fresh.settings |= {
        "APP": f"http://{app.address}",
        "APP_RULES": str(fresh.folder / "my rules.vcl"),
    }
    return fresh


def test_the_site_has_its_own_copies_and_is_watched(site: VarnishServer, app: Backend) -> None:
    site.settings["APP_HEALTH"] = "/alive?x=1"
    site.start()
    app.cache_control = "max-age=60"
    for outcome in ("fwd=uri-miss; stored", "hit"):
        got = site.request("/same", "shop.example:8080", x_own_app="yes")
        assert got.text == app.name
        assert outcome in got.headers["cache-status"]
        assert "x-own-app" not in got.headers
    for host in ("shop.example", "classic.localhost"):
        assert site.request("/", host).text == "backend"
    wait_until(lambda: "/alive?x=1" in app.targets)
    probe = next(one for one in app.requests if one.target == "/alive?x=1")
    assert probe.headers["host"] == "app.localhost"


def test_an_application_that_hangs_leaves_connections_and_threads(site: VarnishServer, app: Backend) -> None:
    site.start()
    app.go.clear()
    with ThreadPoolExecutor(150) as pool:
        waiting = [pool.submit(site.request, f"/{number}", x_own_app="yes") for number in range(150)]
        wait_until(lambda: len(app.requests) >= 100)
        assert site.request("/").text == "backend"
        wait_until(lambda: any(one.done() for one in waiting))
        app.go.set()
        assert {one.result().status for one in waiting} == {200, 503}


@pytest.mark.parametrize("listener", ["socket", "port"])
def test_the_application_purges_its_own_copies_and_none_of_upstage(
    site: VarnishServer, app: Backend, listener: str
) -> None:
    """A client of nginx's listeners may not purge."""
    purge: Address = site.folder / "purge.sock" if listener == "socket" else ("127.0.0.1", free_ports(1)[0])
    named = purge if isinstance(purge, Path) else "{}:{}".format(*purge)
    site.settings["VARNISH_LISTEN_APP_PURGE"] = str(named)
    site.settings["APP_NAMES"] = "shop.example *.play.org .stage.test"
    site.settings["SERVER_NAMES"] = "[2001:db8::7]"
    site.start()

    def asked() -> list[str]:
        """Return the backends that are asked for a page."""
        for origin in (app, site.backend):
            origin.forget()
            origin.cache_control = "max-age=60"
        site.request("/a?x=1", "shop.example", x_own_app="yes")
        site.request("/a?x=1", "localhost")
        return [origin.name for origin in (app, site.backend) if origin.requests]

    assert asked() == [app.name, "backend"]
    assert asked() == []
    assert site.request("/a", "shop.example", "PURGE", x_own_app="yes").status == 405
    assert site.request("/a", "shop.example", "GET", purge).status == 405
    assert asked() == []
    for target, host, regex in (
        ("/a", "varnish:6081", False),
        ("http://SHOP.example/a", "varnish:6081", False),
        ("http://shop.example:8080/a?x=1", "varnish", False),
        ("http://shop.example/.*", "varnish", True),
        ("/a", "127.0.0.1:6081", False),
        ("/a", "[::1]", False),
        ("/a", "a.b.localhost:1", False),
        ("/a", "host.docker.internal", False),
        ("/a", "www.play.org", False),
        ("/a", "stage.test:8080", False),
        ("/a", "x.stage.test", False),
        ("/a", "[2001:db8::7]:80", False),
    ):
        method = {"x_purge_method": "regex"} if regex else {}
        assert site.request(target, host, "PURGE", purge, **method).status == 200
        assert (asked(), asked()) == ([app.name], []), (target, host)
    for target, host, more, status in (
        ("/a", "evil.example:6081", {}, 421),
        ("/a", "shop.example.evil", {}, 421),
        ("/a", "play.org", {}, 421),
        ("http://evil.example/a", "varnish", {}, 421),
        ("/a", "localhost", {"origin": "http://localhost:6081"}, 403),
        ("/a", "localhost", {"sec_fetch_site": "same-origin"}, 403),
    ):
        assert site.request(target, host, "PURGE", purge, **more).status == status
    assert asked() == []


def test_rules_are_read_at_a_reload_and_a_mistake_in_them_changes_nothing(
    site: VarnishServer, app: Backend
) -> None:
    site.start()
    rules = site.folder / "my rules.vcl"
    rules.write_text('sub vcl_backend_response { set beresp.ttl = 1h; set beresp.http.Cache-Control = ""; }')
    assert site.run_script("reload.sh").returncode == 0
    for outcome in ("fwd=uri-miss; stored", "hit"):
        assert outcome in site.request("/ruled", x_own_app="yes").headers["cache-status"]
    rules.write_text("sub vcl_recv { nonsense; }")
    refused = site.run_script("reload.sh")
    assert refused.returncode != 0
    assert "rules.vcl" in refused.stdout
    assert "hit" in site.request("/ruled", x_own_app="yes").headers["cache-status"]
    loaded = [line for line in site.cli("vcl.list").splitlines() if "auto" in line and " app_" in line]
    assert len(loaded) == 1


def test_no_word_of_a_comment_of_the_starter_counts(site: VarnishServer) -> None:
    site.settings["APP_RECIPE"] = "django"
    script = '. "${0%/*}/settings.sh" && write_vcl'
    assert site.run("sh", "-c", script, site.scripts / "start.sh").stdout == ""
    before = rendered(site.generated)
    assert len([*reworded(site)]) > 200
    assert site.run("sh", "-c", script, site.scripts / "start.sh").stdout == ""
    assert rendered(site.generated) == before
    assert "vcl_recv" in before["rules.vcl"]


def test_a_recipe_of_the_starter_comes_after_the_own_rules(site: VarnishServer, app: Backend) -> None:
    app.respond = lambda _: response("page")
    (site.folder / "my rules.vcl").write_text('sub vcl_recv { if (req.url == "/mine") { return (pass); } }')
    site.settings["APP_RECIPE"] = "wordpress"
    site.start()
    for path, kept in (("/page", "stored"), ("/mine", "bypass")):
        assert kept in site.request(path, x_own_app="yes").headers["cache-status"]


def test_arguments_and_cookies_that_change_nothing_do_not_count(site: VarnishServer, app: Backend) -> None:
    site.settings |= {"IGNORE_ARGUMENTS": "ref promo_* x[1]", "IGNORE_COOKIES": "theme s.*"}
    app.cache_control = "max-age=60"
    site.start()
    for query in ("a=1", "ref&a=1&promo_x=2&x[1]=3", "a=1&utm_source_platform=x&ref=7"):
        cookie = "theme=dark; s.x=2; OptanonConsent=3"
        site.request(f"/p?{query}", "localhost", "GET", None, x_own_app="yes", cookie=cookie)
    for query in ("a=1&xref=1", "a=1&x1=2"):
        site.request(f"/p?{query}", "localhost", "GET", None, x_own_app="yes", cookie="theme=dark")
    site.request("/p?a=1", "localhost", "GET", None, x_own_app="yes", cookie="themes=dark; sx=1")
    assert app.targets == ["/p?a=1", "/p?a=1&xref=1", "/p?a=1&x1=2", "/p?a=1"]


# Path -> the response's headers, the request's, and the reason.
REASONS: dict[str, tuple[dict[str, str], dict[str, str], str]] = {
    "/zero": ({"cache_control": "max-age=0"}, {}, "lifetime 0.000, Cache-Control max-age=0"),
    "/private": ({"cache_control": "private, max-age=60"}, {}, "Cache-Control private, max-age=60"),
    "/login": ({"cache_control": "max-age=60", "set_cookie": "csrf=1; Path=/"}, {}, "Set-Cookie csrf"),
    "/mine": ({"cache_control": "max-age=60"}, {"cookie": "b=1; a=2"}, "a cookie"),
    "/secret": ({"cache_control": "max-age=60"}, {"authorization": "Basic eDp5"}, "a password"),
    "/kept": ({"cache_control": "max-age=60"}, {}, "no usable copy; kept for 60 s"),
    "/theme": ({"cache_control": "max-age=60"}, {"x_unusual": "x-theme"}, "the header x-theme"),
    "/file": ({"cache_control": "max-age=60", "x_sendfile": "/x"}, {}, "an order for a proxy"),
    "/film": ({"cache_control": "max-age=60"}, {}, "above 8 MB"),
}


def test_varnish_logs_why_a_response_was_not_kept(site: VarnishServer, app: Backend) -> None:
    def respond(request: Asked) -> bytes:
        body = b"x" * (9_000_000 if request.target == "/film" else 1)
        return response(body, **REASONS[request.target][0])

    app.respond = respond
    site.start()
    for path, (_, fields, _) in REASONS.items():
        site.request(path, "localhost", "GET", None, x_own_app="yes", **fields)

    def reasons() -> dict[str, str]:
        command = ["varnishlog", "-n", str(site.workdir), "-d", "-g", "request"]
        log = subprocess.check_output(command, env=site.environment(), text=True).splitlines()
        return {one.path: "; ".join(by_varnish(one)) for one in requests(log) if one.header("X-Own-App")}

    wait_until(lambda: reasons().keys() == REASONS.keys(), report=lambda: str(reasons()))
    found = reasons()
    assert [path for path, (_, _, reason) in REASONS.items() if reason not in found[path]] == [], found
