"""Your own application: URL and host are as the browser sent them; long-lived connections bypass Varnish."""

import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from nginx.tests.app_site import HOST, Site
from nginx.tests.nginx_server import NginxServer
from tests.support.comments import rendered, reworded
from tests.support.origin import Origin, Request, response
from tests.support.wait import wait_until

FORGED = dict.fromkeys(
    ("forwarded", "x_forwarded_host", "x_forwarded_prefix", "x_original_url", "remote_user"), "forged"
)


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with Site() as server:
        server.use_one_worker()
        server.start()
        yield server


def test_the_request_reaches_varnish_as_the_browser_sent_it(site: Site) -> None:
    got = site.request("/%41//b?y=1&x=%2F", HOST, "GET", None, b"", "", **FORGED)
    assert got.text == "varnish"
    [request] = site.varnish.requests
    assert "forged" not in str(request.headers)
    assert request.target == "/%41//b?y=1&x=%2F"
    assert {name: request.headers[name] for name in request.headers if "forw" in name or name == "host"} == {
        "host": HOST,
        "x-forwarded-host": HOST,
        "x-forwarded-port": "8080",
        "x-forwarded-proto": "http",
        "x-forwarded-for": "127.0.0.1",
        "forwarded": f'for="127.0.0.1";host="{HOST}";proto=http',
    }
    assert request.headers["x-own-app"] == "yes"
    assert got.headers["cache-status"] == "nginx; fwd=uri-miss"


def test_the_host_that_chose_the_site_is_the_one_that_goes_on(site: Site) -> None:
    """The host of a whole URL in the request line counts: RFC 9112, section 3.2.2."""
    for host in (HOST, "app.localhost"):
        site.exchange(f"GET http://{host}/ HTTP/1.1\r\nHost: forged:9\r\nConnection: close\r\n\r\n".encode())
    requests = [request.headers for request in site.varnish.requests]
    assert [each["host"] for each in requests] == [HOST, "app.localhost"]
    assert [each["x-forwarded-port"] for each in requests] == ["8080", "80"]
    assert "forged" not in str(requests)


def test_only_nginx_says_what_is_the_site(site: Site) -> None:
    assert site.request("/", "localhost", x_own_app="yes").text == "varnish"
    assert "x-own-app" not in site.varnish.requests[0].headers


@pytest.mark.parametrize("host", ["shop.example", "SHOP.example:8443", "app.localhost"])
def test_its_names_are_those_of_the_settings(site: Site, host: str) -> None:
    site.request("/", host)
    assert site.varnish.requests[0].headers["x-own-app"] == "yes"


def test_the_certificate_has_its_names(site: Site) -> None:
    certificate = ssl.get_server_certificate((site.address, site.https))
    text = ssl.PEM_cert_to_DER_cert(certificate)
    for name in (b"shop.example", b"app.localhost"):
        assert name in text


def test_without_a_name_of_its_own_it_can_be_the_default_site() -> None:
    with Site(APP_DEFAULT="on", SERVER_NAMES="machine.example") as server:
        server.start()
        for host in ("localhost", "127.0.0.1:8080", "machine.example", "upstage.localhost"):
            server.request("/", host)
        marks = [request.headers.get("x-own-app") for request in server.varnish.requests]
        assert marks == ["yes"] * 3 + [None]


@pytest.mark.parametrize("upgrade", [None, "websocket"])
def test_what_stays_open_goes_straight_to_the_application(site: Site, upgrade: str | None) -> None:
    stays = {"upgrade": upgrade, "connection": "Upgrade"} if upgrade else {"accept": "text/event-stream"}
    assert site.request("/any/path?x=1", HOST, "GET", None, b"", "", **stays).text == "app"
    [request] = site.app.requests
    assert (request.target, request.headers.get("upgrade")) == ("/any/path?x=1", upgrade)
    assert request.headers.get("connection") == ("upgrade" if upgrade else None)
    assert "x-own-app" not in request.headers
    assert site.varnish.requests == []


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PROPFIND"])
def test_what_no_copy_can_answer_goes_straight_to_the_application(site: Site, method: str) -> None:
    got = site.request("/any/path?x=1", HOST, method, None, b"word", "", **FORGED)
    assert (got.text, got.headers["cache-status"]) == ("app", "nginx; fwd=method")
    [request] = site.app.requests
    assert (request.method, request.target, request.body) == (method, "/any/path?x=1", b"word")
    assert request.headers["x-forwarded-host"] == HOST
    assert "forged" not in str(request.headers)
    assert site.varnish.requests == []


@pytest.mark.parametrize(("method", "accept"), [("GET", "text/event-stream"), ("POST", "*/*")])
def test_a_client_that_reads_nothing_holds_no_worker(site: Site, method: str, accept: str) -> None:
    """nginx takes all 20 MB from the application, more than the kernel's buffers hold."""
    site.app.respond = lambda _: response(bytes(20_000_000))
    with site.connect() as client:
        head = f"Host: {HOST}\r\nAccept: {accept}\r\nContent-Length: 0"
        client.sendall(f"{method} /large HTTP/1.1\r\n{head}\r\n\r\n".encode())
        wait_until(lambda: "/large" in site.app.sent)


def test_a_response_before_the_end_of_an_upload_arrives(site: Site) -> None:
    """The application reads no body, and closes the connection."""

    def refuse(connection: socket.socket) -> None:
        while b"\r\n\r\n" not in connection.recv(1 << 16):
            pass
        connection.sendall(response("who are you?", "401 Unauthorized", connection="close"))
        connection.shutdown(socket.SHUT_WR)
        time.sleep(0.2)

    refuser = Origin("refuser", behave=refuse)
    with Site(APP=f"http://{refuser.address}", APP_ADDRESS="") as server:
        server.origins.append(refuser)
        server.start()
        for _ in range(3):
            got = server.request("/", HOST, "POST", body=bytes(900_000))
            assert (got.status, got.text) == (401, "who are you?")


@pytest.mark.parametrize("with_address", [True, False])
def test_within_nginx_there_are_no_limits_for_one_client(with_address: bool) -> None:
    with Site() as server:
        if not with_address:  # as in the container
            server.settings["LISTEN_LOAD"] = str(server.load)
        server.start()
        server.app.delay = 1
        with ThreadPoolExecutor(3) as pool:
            statuses = list(pool.map(lambda _: server.request("/", HOST, "POST").status, range(3)))
    assert statuses == [200] * 3


def test_no_word_of_a_comment_of_the_starter_counts() -> None:
    """varnish/tests/python/test_app.py tests the same for Varnish's files."""
    with Site() as server:
        assert server.render().stdout == ""
        before = rendered(server.generated)
        assert len([*reworded(server)]) > 200
        assert server.render().stdout == ""
        assert rendered(server.generated) == before
        assert "proxy_set_header X-Forwarded-For" in before["starter/claims.conf"]


def test_settings_that_have_been_read_can_be_read_again(site: Site) -> None:
    """`nginx -t` in the container reads them within reload.sh, which exports them (command.sh)."""
    script = f"cd {site.scripts} && . scripts/settings.sh && sh reload.sh"
    assert site.run("sh", "-c", script).stdout == ""


@pytest.mark.parametrize("method", ["PURGE", "BAN"])
def test_a_client_may_not_purge(site: Site, method: str) -> None:
    assert site.request("/", HOST, method).status == 405
    assert site.requests == []


def test_only_what_stays_open_may_be_silent_for_long() -> None:
    with Site(APP_TIMEOUT="1s") as server:
        server.start()
        server.app.delay = 1.5
        assert server.request("/", HOST, accept="text/event-stream").text == "app"
        assert server.request("/", HOST, "POST").status == 503


def test_other_upgrades_are_not_passed_on(site: Site) -> None:
    assert site.request("/", HOST, upgrade="h2c").text == "varnish"
    assert "upgrade" not in site.varnish.requests[0].headers


def test_without_a_cache_under_every_name_and_without_limits_for_locust() -> None:
    with Site(CLIENT_REQUESTS="1", CLIENT_CONNECTIONS="1", HTTPS_REDIRECT="on") as server:
        server.start()
        port = server.load_site_nginx
        responses = [server.request("/%41", "any.example:8080", port=port) for _ in range(20)]
        assert {each.text for each in responses} == {"app"}
        assert "cache-status" not in responses[0].headers
        [sent] = {(request.target, request.headers["host"]) for request in server.app.requests}
        assert sent == ("/%41", "any.example:8080")


def test_alone(site: Site) -> None:
    assert site.request("/", "anything", port=site.load_site).text == "app"
    assert site.app.requests[0].headers == {"host": "anything"}


def test_a_redirect_to_its_own_address_is_repaired(site: Site) -> None:
    def moved(request: Request) -> bytes:
        return response(status="302 Found", location=request.headers["x-test"])

    site.respond_all(moved)
    for method in ("GET", "POST"):
        moved_to = site.request("/", HOST, method, x_test="http://127.0.0.1:5000/x").headers["location"]
        assert moved_to == "/x"
    assert site.request("/", HOST, x_test="http://shop/x").headers["location"] == "http://shop/x"


def test_an_upload_above_the_limit_is_refused(site: Site) -> None:
    assert site.request("/", HOST, "POST", body=b"x" * 1_000_000).text == "app"
    refused = site.request("/", HOST, "POST", body=b"x" * 1_100_000)
    assert refused.status == 413
    assert "larger than the site takes" in refused.text


@pytest.mark.parametrize("version", ["--http1.1", "--http2"])
@pytest.mark.parametrize("host", ["app.localhost", "localhost"])
def test_a_refusal_is_our_page_over_both_versions_of_http(
    site: Site, tmp_path: Path, host: str, version: str
) -> None:
    (tmp_path / "large").write_bytes(bytes(40_000_000))
    cases = {
        "413": ("--data-binary", f"@{tmp_path}/large"),
        "431": ("--header", f"Cookie: a={'x' * 8200}"),
        "405": ("--request", "TRACE"),
        "421": ("--header", "Host: unknown.example"),
    }
    address = ("--resolve", f"{host}:{site.https}:{site.address}", f"https://{host}:{site.https}/x")
    for status, options in cases.items():
        command = ("curl", "-qsk", version, "-w", r"\n%{http_version} %{http_code}", *options, *address)
        said = subprocess.run(command, capture_output=True, text=True, timeout=30).stdout
        assert said.startswith("<!doctype html>")
        assert said.split()[-3:] == ["</html>", version.removeprefix("--http"), status]


def test_copies_are_apart_by_scheme_and_port(site: Site) -> None:
    """The application's pages may contain links with both."""

    def kept(request: Request) -> bytes:
        return response(request.headers["host"].encode(), x_accel_expires="60", cache_status="varnish; hit")

    site.varnish.respond = kept
    hosts = ["app.localhost:1", "app.localhost:2", "app.localhost:1", "app.localhost:2"]
    assert [site.request("/kept", host).text for host in hosts] == hosts
    assert len(site.varnish.requests) == 2


def test_what_varnish_has_no_place_for_or_cannot_answer_goes_straight_to_the_application(site: Site) -> None:
    site.varnish.respond = lambda _: response("", "503 Busy", x_accel_redirect="@straight")
    assert site.request("/poll?x=1", HOST).text == "app"
    site.varnish.close()
    try:
        assert site.request("/poll?x=2", HOST, "HEAD").status == 200
        assert site.request("/poll?x=3", HOST).text == "app"
    finally:
        site.varnish.listen()
    assert [request.target for request in site.app.requests] == [f"/poll?x={number}" for number in (1, 2, 3)]
    assert not {"x-unusual", "x-variant", "x-own-app"} & set(site.app.requests[0].headers)


@pytest.mark.parametrize(("method", "accept"), [("POST", "*/*"), ("GET", "text/event-stream")])
def test_an_order_of_the_application_is_not_followed(site: Site, method: str, accept: str) -> None:
    for order in ("/.nginx/health", "@held_open", "/other"):
        site.app.respond = lambda _, to=order: response("own", x_accel_redirect=to, x_accel_limit_rate="1")
        assert site.request("/", HOST, method, accept=accept).text == "own"


@pytest.mark.parametrize(("method", "accept"), [("POST", "*/*"), ("GET", "text/event-stream")])
def test_an_application_that_is_slow_takes_only_its_own_places(site: Site, method: str, accept: str) -> None:
    """Twenty uploads of four clients wait, and one more is refused; UpStage takes its own."""
    go = threading.Event()
    site.app.respond = lambda _: response("x") if go.wait(30) else b""
    clients = [f"127.0.5.{number}" for number in range(1, 6)]

    def upload(host: str, client: str) -> int:
        body = b"x" * 100_000
        return site.request("/", host, method, body=body, source=client, accept=accept).status

    with ThreadPoolExecutor(20) as pool:
        waiting = [pool.submit(upload, HOST, client) for client in clients[:4] * 5]
        wait_until(lambda: len(site.app.requests) == 20)
        assert upload(HOST, clients[4]) == 429
        assert upload("localhost", clients[4]) == 200
        go.set()
        assert {one.result() for one in waiting} == {200}


@pytest.mark.parametrize(("method", "accept"), [("POST", "*/*"), ("GET", "text/event-stream")])
def test_an_application_that_is_down_is_told_by_a_page(site: Site, method: str, accept: str) -> None:
    site.app.close()
    try:
        got = site.request("/", HOST, method, accept=accept)
        assert (got.status, got.headers["retry-after"]) == (503, "5")
        assert "This site does not answer" in got.text
    finally:
        site.app.listen()


def test_without_a_relay_the_application_is_asked_directly() -> None:
    """Native mode has no relay."""
    with NginxServer(APP_NAMES="shop.example", APP_DEFAULT="on", APP_ADDRESS="") as server:
        app = Origin("app")
        server.origins.append(app)
        server.settings["APP"] = f"http://localhost:{app.port}/"
        server.start()
        for host in ("app.localhost", "localhost", "shop.example"):
            assert server.request("/", host, "POST").text == "app"
        assert server.request("/", "upstage.localhost").text == "varnish"
        for port in (server.load_site, server.load_site_nginx):
            assert server.request("/", "any.example", port=port).text == "app"
