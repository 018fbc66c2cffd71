"""Which way a request goes, what the next tier sees of it, and what comes back."""

import re
import time

import pytest

from nginx_server import NginxServer
from support.http import Response
from support.origin import Origin, Request, response
from support.wait import wait_until

SETTINGS = {"SERVER_NAMES": "stage.example.org 192.0.2.7"}
SITES = ["localhost", "classic.localhost", "nginx.localhost", "static.localhost"]


def moved(seen: Request) -> bytes:
    return response(status="302 Found", location=f"http://{seen.headers['host']}:8081/admin/")


@pytest.mark.parametrize(
    ("host", "tier"),
    [
        ("upstage.localhost", "varnish"),
        ("localhost", "varnish"),
        ("LOCALHOST:8080", "varnish"),
        ("127.0.0.1", "varnish"),
        ("[::1]:8080", "varnish"),
        ("stage.example.org", "varnish"),
        ("192.0.2.7", "varnish"),
        ("classic.localhost", "varnish over TCP"),
        ("nginx.localhost", "backend"),
        ("static.localhost", "backend"),
    ],
)
def test_the_host_decides_who_is_asked(server: NginxServer, host: str, tier: str) -> None:
    assert server.request(f"/{tier.replace(' ', '-')}", host).text == tier


@pytest.mark.parametrize("port", ["public", "load"])
@pytest.mark.parametrize("host", ["nobody.example", "localhost.example", "127.0.0.2", "second.localhost"])
def test_an_unknown_host_is_misdirected(server: NginxServer, host: str, port: str) -> None:
    answer = server.request("/", host, port=getattr(server, port))
    assert answer.status == 421
    assert "SERVER_NAMES" in answer.text
    assert not any(mock.requests for mock in server.origins)


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET http://nobody.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n", 421),
        (b"GET http://localhost/ HTTP/1.1\r\nHost: nobody.example\r\n\r\n", 200),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: nobody.example\r\n\r\n", 400),
        (b"GET /a b HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        (b"GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        (b"GET /%00 HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"x" * 9000 + b"\r\n\r\n", 400),
        (b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 414),
        # Two ideas of where the body ends: the way to smuggle a second request past the first tier.
        (
            b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n",
            400,
        ),
        (
            b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
            400,
        ),
        (b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: +1\r\n\r\na", 400),
        (
            b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
            501,
        ),
    ],
)
def test_what_is_not_one_clear_request_goes_no_further(
    server: NginxServer, request_: bytes, status: int
) -> None:
    assert server.exchange(request_).status == status
    assert len([seen for mock in server.origins for seen in mock.requests]) == (status == 200)


def test_a_space_before_the_colon_hides_no_length(server: NginxServer) -> None:
    """`Content-Length : 30` must not be a length for the next tier and none for us."""
    smuggled = b"GET /smuggled HTTP/1.1\r\nX: y\r\n\r\n"
    request = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length : %d\r\n\r\n" % len(smuggled)
    server.exchange(request + smuggled)
    assert all("content-length " not in seen.headers for seen in server.varnish.requests)
    assert all(seen.target != "/smuggled" for seen in server.varnish.requests)


def test_a_chunked_body_arrives_with_a_length(server: NginxServer) -> None:
    request = (
        b"POST /x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
    )
    assert server.exchange(request).status == 200
    assert server.varnish.requests[0].body == b"abc"
    assert "transfer-encoding" not in server.varnish.requests[0].headers


@pytest.mark.parametrize("host", SITES)
def test_what_a_client_claims_about_itself_goes_no_further(server: NginxServer, host: str) -> None:
    answer = server.request(
        "/forged",
        host,
        x_forwarded_for="192.0.2.66",
        x_real_ip="192.0.2.66",
        forwarded="for=192.0.2.66",
        x_forwarded_proto="https",
        x_request_id="mine\x01",
        proxy="http://192.0.2.66",
        cache_status="forged; hit",
    )
    (seen,) = [seen for mock in server.origins for seen in mock.requests]
    assert "192.0.2.66" not in str(seen.headers)
    assert seen.headers["x-forwarded-for"] == seen.headers["x-real-ip"] == "127.0.0.1"
    assert seen.headers["x-forwarded-proto"] == "http"
    assert seen.headers["host"] == host
    assert re.fullmatch("[0-9a-f]{32}", seen.headers["x-request-id"])
    assert answer.headers["x-request-id"] == seen.headers["x-request-id"]
    assert "forged" not in answer.headers.get("cache-status", "")
    (line,) = wait_until(lambda: server.log_lines(seen.headers["x-request-id"]))
    assert "127.0.0.1" in line
    assert "192.0.2.66" not in line


@pytest.mark.parametrize("host", [*SITES, "[::1]"])
def test_a_redirect_never_shows_the_backends_port(server: NginxServer, host: str) -> None:
    for mock in server.origins:
        mock.answer = moved
    answer = server.request("/admin", f"{host}:{server.public}")
    assert answer.status == 302
    assert answer.headers["location"] == "/admin/"


def test_the_answer_cannot_steer_nginx(server: NginxServer) -> None:
    for mock in server.origins:
        mock.answer = lambda _: response("meant", x_accel_redirect="/.nginx/page", x_accel_limit_rate="1")
    for host in SITES[1:]:
        answer = server.request("/steered", host)
        assert (answer.status, answer.text) == (200, "meant")
        assert not [name for name in answer.headers if name.startswith("x-accel")]


@pytest.mark.parametrize("host", SITES)
def test_no_version_in_any_answer(server: NginxServer, host: str) -> None:
    for path in ("/", "/.nginx/nothing", "/.nginx/page"):
        answer = server.request(path, host)
        assert not re.search(r"nginx/\d", f"{answer.headers} {answer.text}")


def websocket(server: NginxServer, host: str) -> tuple[Response, bytes]:
    """Upgrade, then say something."""
    with server.connect() as connection:
        connection.sendall(
            f"GET /ws HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n".encode()
        )
        head = b""
        while b"\r\n\r\n" not in head:
            head += connection.recv(1)
        connection.sendall(b"bravo")
        return Response(int(head.split()[1]), {}, b""), connection.recv(100)


@pytest.mark.parametrize("host", SITES)
def test_a_websocket_goes_to_the_backend_on_every_site(server: NginxServer, host: str) -> None:
    server.backend.answer = lambda _: (
        b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
    )
    answer, echo = websocket(server, host)
    assert (answer.status, echo) == (101, b"BRAVO")
    (seen,) = server.backend.requests
    assert seen.headers["upgrade"] == "websocket"
    assert seen.headers["connection"] == "upgrade"
    assert seen.headers["x-forwarded-for"] == "127.0.0.1"


def test_nothing_is_upgraded_anywhere_else(server: NginxServer) -> None:
    server.request("/else", upgrade="websocket", connection="Upgrade")
    assert not {"upgrade", "connection"} & server.varnish.requests[0].headers.keys()


def test_today_keeps_connections_and_2011_opens_one_each_time(server: NginxServer) -> None:
    for host, mock, http_version in [
        ("localhost", server.varnish, "HTTP/1.1"),
        ("nginx.localhost", server.backend, "HTTP/1.1"),
        ("classic.localhost", server.varnish_tcp, "HTTP/1.0"),
    ]:
        with server.connect() as connection:  # one worker
            for number in range(20):
                connection.sendall(f"GET /{number} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
                while b"HTTP/1.1 200" not in (data := connection.recv(65536)):
                    pass
                while not data.endswith(mock.name.encode()):
                    data += connection.recv(65536)
        assert {seen.version for seen in mock.requests} == {http_version}
        opened = {seen.connection for seen in mock.requests}
        assert len(opened) == (20 if host == "classic.localhost" else 1), host
        mock.requests.clear()


@pytest.mark.parametrize(
    ("host", "compressed"),
    [
        ("localhost", False),  # Varnish's work
        ("classic.localhost", True),
        ("nginx.localhost", True),
        ("static.localhost", True),
    ],
)
def test_one_tier_compresses(server: NginxServer, host: str, compressed: bool) -> None:
    for mock in server.origins:
        mock.answer = lambda _: response("bravo " * 500, content_type="text/css")
    answer = server.request("/style", host, accept_encoding="gzip")
    assert (answer.headers.get("content-encoding") == "gzip") == compressed
    assert ("Accept-Encoding" in answer.headers.get("vary", "")) == compressed
    assert "content-encoding" not in server.request("/plain", host).headers
    for mock in server.origins:
        mock.answer = lambda _: response("x" * 3000, content_type="image/png")
    assert "content-encoding" not in server.request("/picture", host, accept_encoding="gzip").headers


@pytest.mark.parametrize("host", SITES)
def test_a_body_has_a_limit(server: NginxServer, host: str) -> None:
    """UpStage's, with room for the form around a file; the article's 16 MB."""
    limit = (16 if host == "classic.localhost" else 3) * 1024 * 1024
    head = f"POST /upload HTTP/1.1\r\nHost: {host}\r\nContent-Length: %d\r\n\r\n"
    too_much = server.exchange((head % (limit + 1)).encode())
    assert too_much.status == 413
    assert "2 megabytes" in too_much.text
    assert server.request("/upload", host, "POST", body=b"x" * limit).status == 200
    assert [len(seen.body) for mock in server.origins for seen in mock.requests] == [limit]


def test_classic_has_a_log_of_its_own(server: NginxServer) -> None:
    server.request("/counted", "classic.localhost", user_agent="Lynx", referer="http://example.org/")
    (line,) = wait_until(lambda: server.log_lines("/counted"))
    assert re.fullmatch(
        r'classic\.localhost 127\.0\.0\.1 - - \[[^]]+\] "GET /counted HTTP/1\.1" 200 16 '
        r'"http://example\.org/" "Lynx" id=[0-9a-f]{32}',
        line,
    )


def test_a_line_of_the_log_is_one_line(server: NginxServer) -> None:
    server.request("/marked", user_agent="a\x1b[31m\x07", referer='"')
    server.request("/marked-%0aforged")
    assert len(wait_until(lambda: [x for x in [server.log_lines("/marked")] if len(x) == 2])[0]) == 2
    assert not server.log_lines("^forged")
    assert "\x1b" not in server.log.read_text()


@pytest.mark.parametrize("host", SITES)
def test_server_timing_has_a_member_of_each_tier(server: NginxServer, host: str) -> None:
    for mock in server.origins:
        mock.answer = lambda _: response("x", server_timing='varnish;desc="hit"')
    timing = server.request("/timed", host).headers["server-timing"]
    desc = "miss" if host == "localhost" else "pass"
    assert re.fullmatch(rf'varnish;desc="hit", nginx;desc="{desc}";dur=\d+', timing)
    own = server.request("/.nginx/nothing-such", host, port=server.load)
    assert "nginx;desc=" in own.headers["server-timing"]


def test_the_milliseconds_of_server_timing_are_true(server: NginxServer) -> None:
    def slow(seen: Request) -> bytes:
        time.sleep(float(seen.target[1:]))
        return response("x")

    server.backend.answer = slow
    for seconds in (0.05, 1.1):
        timing = server.request(f"/{seconds}", "nginx.localhost").headers["server-timing"]
        assert seconds * 1000 - 20 <= int(timing.split("dur=")[1]) < seconds * 1000 + 300


@pytest.mark.parametrize("host", SITES)
def test_nobody_answers(server: NginxServer, host: str) -> None:
    mock: Origin = {"localhost": server.varnish, "classic.localhost": server.varnish_tcp}.get(
        host, server.backend
    )
    mock.close()
    try:
        answer = server.request("/", host)
    finally:
        mock.listen()
    assert answer.status == 503
    assert answer.headers["retry-after"] == "5"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["cache-status"] == "nginx; detail=error"
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "The curtain is down" in answer.text
    assert answer.headers["x-request-id"] in answer.text
    assert "nginx" not in answer.text


def test_the_tiers_own_errors_are_left_alone(server: NginxServer) -> None:
    for mock in (server.varnish, server.backend):
        mock.answer = lambda _: response("mine", status="503 Service Unavailable")
    for host in ("localhost", "nginx.localhost"):
        answer = server.request("/error", host)
        assert (answer.status, answer.text) == (503, "mine")


def test_the_backends_figures_are_for_the_load_port(server: NginxServer) -> None:
    assert server.request("/.nginx/backend", port=server.load).text == "metrics"
    assert server.metrics.requests[-1].target == "/metrics"
    assert server.request("/.nginx/backend").status == 404
    assert len(server.metrics.requests) == 1
