"""Your own sites: the VCL that the scripts make from its settings, and why a response is not kept."""

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from extras.site import answer
from logs.varnishlog import Request, requests
from tests.support.http import Address
from tests.support.origin import Request as Asked
from tests.support.origin import response
from tests.support.ports import free_ports
from tests.support.wait import wait_until
from varnish.tests.python.varnish_server import Backend, VarnishServer


@pytest.fixture
def site(fresh: VarnishServer, app: Backend) -> VarnishServer:
    """A Varnish, not started yet, with the site."""
    fresh.settings |= {
        "SITE": f"http://{app.address}",
        "SITE_RULES": str(fresh.folder / "my rules.vcl"),
    }
    return fresh


@pytest.fixture
def sites(fresh: VarnishServer) -> dict[str, Backend]:
    """The applications of two sites, behind a relay's sockets; by the name that nginx tells Varnish."""
    fresh.settings |= {"SITES": "blog=https://blog:8000 shop.example.org=http://shop"}
    fresh.settings["SITE_ADDRESS"] = f"unix:{fresh.folder}/site.*.sock"
    sites = {name: Backend(name, fresh.folder / f"site.{name}.sock") for name in ("blog", "shop.example.org")}
    fresh.origins += sites.values()
    return sites


HOSTS = {"blog": "blog.localhost:8080", "shop.example.org": "shop.example.org"}


def test_each_site_has_its_own_application_and_copies(
    fresh: VarnishServer, sites: dict[str, Backend]
) -> None:
    """The rules are the same for all, and may look at the host."""
    rule = 'sub vcl_backend_response { if (bereq.http.Host ~ "^shop") { set beresp.http.X-Rule = "shop"; } }'
    fresh.settings["SITE_RULES"] = str(fresh.folder / "my rules.vcl")
    (fresh.folder / "my rules.vcl").write_text(rule)
    fresh.settings["SITE_HEALTH"] = "/alive?x=1"
    fresh.start()
    for app in sites.values():
        app.cache_control = "max-age=60"
    for outcome in ("fwd=uri-miss; stored", "hit"):
        for name, host in HOSTS.items():
            answer = fresh.request("/same", host, x_site=name)
            assert answer.text == name
            assert outcome in answer.headers["cache-status"]
            assert answer.headers.get("x-rule") == (None if name == "blog" else "shop")
            assert "x-site" not in answer.headers
    for host in ("blog.localhost", "classic.localhost"):
        assert fresh.request("/", host).text == "backend"
        assert fresh.request("/", host, x_site="blog").text == "blog"
    for name, app in sites.items():
        wait_until(lambda app=app: "/alive?x=1" in app.targets)  # type: ignore[misc]
        probe = next(one for one in app.requests if one.target == "/alive?x=1")
        assert probe.headers["host"] == HOSTS[name].removesuffix(":8080")


def test_an_application_that_hangs_leaves_connections_and_threads(
    fresh: VarnishServer, sites: dict[str, Backend]
) -> None:
    fresh.start()
    sites["blog"].go.clear()
    with ThreadPoolExecutor(150) as pool:
        waiting = [
            pool.submit(fresh.request, f"/{number}", HOSTS["blog"], x_site="blog") for number in range(150)
        ]
        wait_until(lambda: len(sites["blog"].requests) >= 50)  # of a hundred for all sites
        assert fresh.request("/", x_site="shop.example.org").text == "shop.example.org"
        assert fresh.request("/").text == "backend"
        wait_until(lambda: any(one.done() for one in waiting))
        sites["blog"].go.set()
        assert {one.result().status for one in waiting} == {200, 503}


@pytest.mark.parametrize("listener", ["socket", "port"])
def test_a_path_is_purged_on_all_sites_and_a_whole_address_on_one(
    fresh: VarnishServer, sites: dict[str, Backend], listener: str
) -> None:
    """A client of nginx's listeners may not."""
    purge: Address = fresh.folder / "purge.sock" if listener == "socket" else ("127.0.0.1", free_ports(1)[0])
    named = purge if isinstance(purge, Path) else "{}:{}".format(*purge)
    fresh.settings["VARNISH_LISTEN_SITE_PURGE"] = str(named)
    fresh.start()
    for app in sites.values():
        app.cache_control = "max-age=60"

    def asked() -> set[str]:
        """The applications that are asked for a page."""
        for name, host in HOSTS.items():
            sites[name].forget()
            sites[name].cache_control = "max-age=60"
            fresh.request("/a?x=1", host, x_site=name)
        return {name for name, app in sites.items() if app.requests}

    assert (asked(), asked()) == (set(sites), set())
    assert fresh.request("/a", "blog.localhost", "PURGE", x_site="blog").status == 405
    assert fresh.request("/a", "blog.localhost", "GET", purge).status == 405
    assert asked() == set()
    for target, host, regex in (
        ("/a", "varnish:6081", False),
        ("http://BLOG.localhost/a", "varnish:6081", False),
        ("/a", "shop.example.org:8080", False),
        ("http://blog.localhost:8080/a?x=1", "varnish", False),
        ("http://blog.localhost/.*", "varnish", True),
    ):
        method = {"x_purge_method": "regex"} if regex else {}
        assert fresh.request(target, host, "PURGE", purge, **method).status == 200
        one = {"blog"} if "blog" in target.lower() else {"shop.example.org"}
        assert (asked(), asked()) == (set(sites) if host == "varnish:6081" and target == "/a" else one, set())


def test_rules_are_read_at_a_reload_and_a_mistake_in_them_changes_nothing(
    site: VarnishServer, app: Backend
) -> None:
    site.start()
    rules = site.folder / "my rules.vcl"
    rules.write_text('sub vcl_backend_response { set beresp.ttl = 1h; set beresp.http.Cache-Control = ""; }')
    assert site.run_script("reload.sh").returncode == 0
    for outcome in ("fwd=uri-miss; stored", "hit"):
        assert outcome in site.request("/ruled", x_site="yes").headers["cache-status"]
    rules.write_text("sub vcl_recv { nonsense; }")
    refused = site.run_script("reload.sh")
    assert refused.returncode != 0
    assert "rules.vcl" in refused.stdout
    assert "hit" in site.request("/ruled", x_site="yes").headers["cache-status"]
    loaded = [line for line in site.cli("vcl.list").splitlines() if "auto" in line and " site_" in line]
    assert len(loaded) == 1


def test_cookies_and_arguments_of_the_settings_are_ignored_on_the_site_alone(
    site: VarnishServer, app: Backend
) -> None:
    site.settings |= {"SITE_IGNORE_COOKIES": "theme visit_*", "SITE_IGNORE_ARGUMENTS": " ref src.* "}
    site.start()
    cookie = "theme=dark; visit_1=a; themes=b; _ga=1"
    site.request("/?a=1&ref=x&src.y=2&src.z&b=2&refs=3", x_site="yes", cookie=cookie)
    assert (app.requests[0].target, app.requests[0].headers["cookie"]) == ("/?a=1&b=2&refs=3", "themes=b")
    site.request("/?ref", cookie=cookie)
    [theatre] = site.backend.requests
    assert (theatre.target, theatre.headers["cookie"]) == ("/?ref", "theme=dark; visit_1=a; themes=b")


def test_arguments_that_no_page_reads_make_no_other_page(site: VarnishServer, app: Backend) -> None:
    site.settings["SITE_ARGUMENTS"] = "page q.*"
    site.start()
    for query in ("sort=name&page=2&q.a=1&pages=3&x", "q.a=1&ref=q&page=2"):
        site.request(f"/list?{query}", x_site="yes")
    site.request("/list?sort=name", x_site="yes")
    site.request("/list?sort=name", x_site="yes", method="POST")
    site.request("/app.css?v=2", x_site="yes")
    # And without SITE_HEALTH it is asked nothing else.
    assert app.targets == ["/list?page=2&q.a=1"] * 2 + ["/list", "/list?sort=name", "/app.css?v=2"]


def test_a_recipe_of_the_starter_comes_after_the_own_rules(site: VarnishServer, app: Backend) -> None:
    app.answer = lambda _: response("page")
    (site.folder / "my rules.vcl").write_text('sub vcl_recv { if (req.url == "/mine") { return (pass); } }')
    site.settings["SITE_RECIPE"] = "wordpress"
    site.start()
    for path, kept in (("/page", "stored"), ("/mine", "bypass")):
        assert kept in site.request(path, x_site="yes").headers["cache-status"]


# Path -> the response's headers, the request's, and the reason.
REASONS: dict[str, tuple[dict[str, str], dict[str, str], tuple[str, str]]] = {
    "/nothing": ({}, {}, ("no lifetime", "")),
    "/zero": ({"cache_control": "max-age=0"}, {}, ("no lifetime", "")),
    "/private": ({"cache_control": "private, max-age=60"}, {}, ("private", "`private`")),
    "/login": (
        {"cache_control": "max-age=60", "set_cookie": "csrf=1; Path=/"},
        {},
        ("sets a cookie", "`csrf`"),
    ),
    "/mine": ({"cache_control": "max-age=60"}, {"cookie": "b=1; a=2"}, ("a cookie", "`a`, `b`")),
    "/mine.css": ({}, {"cookie": "a=2"}, ("a cookie", "`a`")),
    "/ours.css": ({"cache_control": "public, max-age=60"}, {"cookie": "a=2"}, ("first", "")),
    "/secret": ({"cache_control": "max-age=60"}, {"authorization": "Basic eDp5"}, ("a password", "")),
    "/mixed": (
        {"cache_control": "max-age=60", "vary": "Accept-Encoding, Accept"},
        {},
        ("varies", "`accept`"),
    ),
    "/kept": ({"cache_control": "max-age=60"}, {}, ("first", "")),
    "/film": ({"cache_control": "max-age=60"}, {}, ("large", "")),
    "/gone": ({}, {}, ("status", "404")),
}


def test_why_a_response_was_not_kept(site: VarnishServer, app: Backend) -> None:
    def answered(request: Asked) -> bytes:
        status = "404 Not Found" if request.target == "/gone" else "200 OK"
        body = b"x" * (9_000_000 if request.target == "/film" else 1)
        return response(body, status, **REASONS[request.target][0])

    app.answer = answered
    site.start()
    # The second request for a page that is not kept passes, for the same reason.
    for path, (_, fields, _) in [
        *REASONS.items(),
        *((path, REASONS[path]) for path in ("/nothing", "/film")),
    ]:
        site.request(path, "localhost", "GET", None, x_site="yes", **fields)

    def seen() -> list[Request]:
        command = ["varnishlog", "-n", str(site.workdir), "-d", "-g", "request", "-i", answer.TAGS]
        return requests(subprocess.check_output(command, env=site.environment(), text=True).splitlines())

    def reasons() -> dict[str, tuple[str, str]]:
        return {one.path: answer.reason(one) for one in seen() if one.header("X-Site")}

    expected = {path: reason for path, (_, _, reason) in REASONS.items()}
    wait_until(lambda: reasons() == expected, report=lambda: str(reasons()))
    text = "\n".join(answer.explained(one for one in seen() if one.header("X-Site")))
    assert '`if (bereq.url ~ "^/nothing(\\?|$)") { set beresp.ttl = 60s; }`' in text
    assert "- 21 %: the response has no lifetime (`Cache-Control: max-age`): `/nothing`, `/zero`." in text


def test_a_condition_names_the_page_or_the_folder_of_its_files() -> None:
    assert answer.condition("/static/css/a.css", "req") == 'req.url ~ "^/static/css/"'
    assert answer.condition("/about", "bereq") == 'bereq.url ~ "^/about(\\?|$)"'


def test_cpu_time_is_that_between_two_times() -> None:
    cpu = [(10.0, 1.0), (11.0, 1.5), (12.0, 2.5), (13.0, 2.5)]
    assert answer.cpu_between(cpu, 10.5, 12.5) == pytest.approx(2.0)
    assert answer.cpu_between(cpu, 20.0, 22.0) is None
    assert answer.cpu_between([], 0.0, 1.0) is None
