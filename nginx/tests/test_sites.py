"""The upstream that gets a request, the request as it arrives there, and the client's response."""

import re

import pytest

from nginx.tests.nginx_server import NGINX, SITES, UPGRADED, NginxServer
from tests.support.http import receive
from tests.support.origin import Origin, Request, response
from tests.support.wait import wait_until

SETTINGS = {"SERVER_NAMES": "stage.example.org 192.0.2.7"}
MAIN_CSS = NGINX.parent / "backend/src/upstage/site/style/main.css"


def moved(request: Request) -> bytes:
    """The backend's redirect, with the port it is bound to."""
    return response(status="302 Found", location=f"http://{request.headers['host']}:8081/admin/")


NAMES = {
    "varnish": (
        *("upstage.localhost", "localhost", "LOCALHOST:8080", "127.0.0.1", "[::1]:8080"),
        *("stage.example.org", "192.0.2.7"),
    ),
    "varnish over TCP": ("classic.localhost",),
    "backend": ("nginx.localhost", "static.localhost"),
}


@pytest.mark.parametrize(
    ("host", "upstream"), [(host, upstream) for upstream, hosts in NAMES.items() for host in hosts]
)
def test_the_host_chooses_the_upstream(server: NginxServer, host: str, upstream: str) -> None:
    assert server.request(f"/{upstream.replace(' ', '-')}", host).text == upstream


@pytest.mark.parametrize("port", ["public", "load"])
@pytest.mark.parametrize(
    "host", ["unknown.example", "localhost.example", "127.0.0.2", "second.localhost", "app.localhost"]
)
def test_an_unknown_host_is_misdirected(server: NginxServer, host: str, port: str) -> None:
    answer = server.request("/", host, port=getattr(server, port))
    assert answer.status == 421
    assert "SERVER_NAMES" in answer.text
    assert not server.requests


HEAD = b" HTTP/1.1\r\nHost: localhost\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked"


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET http://unknown.example/" + HEAD + b"\r\n", 421),
        (b"GET http://localhost/ HTTP/1.1\r\nHost: unknown.example\r\n\r\n", 200),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400),
        (b"GET /" + HEAD + b"Host: unknown.example\r\n\r\n", 400),
        (b"GET /a b" + HEAD + b"\r\n", 400),
        (b"GET /../../etc/passwd" + HEAD + b"\r\n", 400),
        (b"GET /%00" + HEAD + b"\r\n", 400),
        (b"GET /" + b"x" * 9000 + HEAD + b"\r\n", 414),
        # The end of the body can be read in two ways, which could smuggle a second request past a proxy.
        (b"POST /" + CHUNKED + b"\r\nContent-Length: 5\r\n\r\n0\r\n\r\nGET /smuggled" + HEAD + b"\r\n", 400),
        (b"POST /" + HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400),
        (b"POST /" + HEAD + b"Content-Length: +1\r\n\r\na", 400),
        (b"POST /" + CHUNKED + b", identity\r\n\r\n0\r\n\r\n", 501),
    ],
)
def test_an_ambiguous_request_is_rejected(server: NginxServer, request_: bytes, status: int) -> None:
    answer = server.exchange(request_)
    assert answer.status == status
    assert len(server.requests) == (status == 200)
    assert status == 200 or "</small>" in answer.text  # our page


def test_a_space_before_the_colon_hides_no_length(server: NginxServer) -> None:
    """`Content-Length : 30` must not be a length for the upstream and none for nginx."""
    smuggled = b"GET /smuggled HTTP/1.1\r\nX: y\r\n\r\n"
    server.exchange(b"POST /" + HEAD + b"Content-Length : %d\r\n\r\n" % len(smuggled) + smuggled)
    assert all("content-length " not in received.headers for received in server.varnish.requests)
    assert "/smuggled" not in server.varnish.targets


def test_a_chunked_body_arrives_with_a_length(server: NginxServer) -> None:
    assert server.exchange(b"POST /x" + CHUNKED + b"\r\n\r\n3\r\nabc\r\n0\r\n\r\n").status == 200
    assert server.varnish.requests[0].body == b"abc"
    assert "transfer-encoding" not in server.varnish.requests[0].headers


@pytest.mark.parametrize("host", SITES)
def test_forged_headers_are_replaced(server: NginxServer, host: str) -> None:
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
    (received,) = server.requests
    assert "192.0.2.66" not in str(received.headers)
    assert received.headers["x-forwarded-for"] == received.headers["x-real-ip"] == "127.0.0.1"
    assert received.headers["x-forwarded-proto"] == "http"
    assert received.headers["host"] == host
    assert re.fullmatch("[0-9a-f]{32}", received.headers["x-request-id"])
    assert answer.headers["x-request-id"] == received.headers["x-request-id"]
    assert "forged" not in answer.headers.get("cache-status", "")


@pytest.mark.parametrize("host", SITES)
def test_only_a_host_with_a_cache_adds_to_cache_status(server: NginxServer, host: str) -> None:
    server.answer_all(lambda _: response(cache_status="varnish; fwd=bypass"))
    own = ", nginx; fwd=uri-miss" if host == "localhost" else ""
    assert server.request("/reported", host).headers["cache-status"] == f"varnish; fwd=bypass{own}"


@pytest.mark.parametrize("host", [*SITES, "[::1]"])
def test_a_redirect_never_shows_the_backends_port(server: NginxServer, host: str) -> None:
    server.answer_all(moved)
    answer = server.request("/admin", f"{host}:{server.public}")
    assert answer.status == 302
    assert answer.headers["location"] == "/admin/"


@pytest.mark.parametrize("host", SITES)
def test_the_date_is_that_of_the_origin(server: NginxServer, host: str) -> None:
    """A cache's copy keeps its date: https://www.rfc-editor.org/rfc/rfc9110#section-6.6.1"""
    date = "Fri, 25 Nov 2011 20:00:00 GMT"
    server.answer_all(lambda _: response("copy", date=date))
    assert server.request("/stages/dated", host).headers["date"] == date


def test_a_response_cannot_control_nginx(server: NginxServer) -> None:
    server.answer_all(lambda _: response("meant", x_accel_redirect="/.nginx/page", x_accel_limit_rate="1"))
    for host in SITES[1:]:
        answer = server.request("/steered", host)
        assert (answer.status, answer.text) == (200, "meant")
        assert not [name for name in answer.headers if name.startswith("x-accel")]


@pytest.mark.parametrize("host", SITES)
def test_without_a_fault_there_is_no_note(server: NginxServer, host: str) -> None:
    """A page that asks for it every two seconds must not fill the logs."""
    answer = server.request("/.nginx/fault", host)
    assert (answer.status, answer.text) == (204, "")
    server.request(f"/later-at-{host}", host)  # lines wait for a second
    wait_until(lambda: server.log_lines(f"/later-at-{host}"))
    assert not server.log_lines(r"/\.nginx/fault")


@pytest.mark.parametrize("host", SITES)
def test_no_response_shows_a_version(server: NginxServer, host: str) -> None:
    for path in ("/", "/.nginx/nothing", "/.nginx/page"):
        answer = server.request(path, host)
        assert not re.search(r"nginx/\d", f"{answer.headers} {answer.text}")


@pytest.mark.parametrize("host", SITES)
def test_a_websocket_goes_to_the_backend_on_every_site(server: NginxServer, host: str) -> None:
    server.backend.answer = lambda _: UPGRADED
    assert server.websocket("/ws", host) == (101, b"BRAVO")
    (received,) = server.backend.requests
    assert received.headers["upgrade"] == "websocket"
    assert received.headers["connection"].lower() == "upgrade"
    assert received.headers["x-forwarded-for"] == "127.0.0.1"


def test_nothing_is_upgraded_anywhere_else(server: NginxServer) -> None:
    server.answer_all(lambda _: response("x", upgrade="h2c"))
    assert "upgrade" not in server.request("/else", upgrade="websocket", connection="Upgrade").headers
    assert not {"upgrade", "connection"} & server.varnish.requests[0].headers.keys()


def test_the_backend_judges_a_handshake_and_only_http_1_1_has_one(server: NginxServer) -> None:
    refusal = response("x", "426 Upgrade Required", upgrade="websocket", connection="close")
    server.backend.answer = lambda _: refusal
    asked = b"GET /ws HTTP/%s\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
    for version, forwarded, back in ((b"1.1", "websocket", "websocket"), (b"1.0", None, None)):
        with server.connect() as client:
            client.sendall(asked % version)
            answer = receive(client)
        assert server.backend.requests[-1].headers.get("upgrade") == forwarded
        assert answer.headers.get("upgrade") == back
        assert ("upgrade" in answer.headers["connection"]) == (back is not None)


def test_connections_are_kept_except_on_classic(server: NginxServer) -> None:
    for host, origin, http_version in [
        ("localhost", server.varnish, "HTTP/1.1"),
        ("nginx.localhost", server.backend, "HTTP/1.1"),
        ("classic.localhost", server.varnish_tcp, "HTTP/1.0"),
    ]:
        with server.connect() as connection:  # one worker
            for number in range(20):
                connection.sendall(f"GET /{number} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
                while b"HTTP/1.1 200" not in (data := connection.recv(65536)):
                    pass
                while not data.endswith(origin.name.encode()):
                    data += connection.recv(65536)
        assert {received.version for received in origin.requests} == {http_version}
        opened = {received.connection for received in origin.requests}
        assert len(opened) == (20 if host == "classic.localhost" else 1), host
        origin.requests.clear()


@pytest.mark.parametrize("host", SITES)
def test_nginx_compresses_where_varnish_does_not(server: NginxServer, host: str) -> None:
    compressed = host != "localhost"
    server.answer_all(lambda _: response("bravo " * 500, content_type="text/css"))
    answer = server.request("/style", host, accept_encoding="gzip")
    assert (answer.headers.get("content-encoding") == "gzip") == compressed
    assert ("Accept-Encoding" in answer.headers.get("vary", "")) == compressed
    assert "content-encoding" not in server.request("/plain", host).headers
    server.answer_all(lambda _: response("x" * 3000, content_type="image/png"))
    assert "content-encoding" not in server.request("/picture", host, accept_encoding="gzip").headers


@pytest.mark.parametrize("host", SITES)
def test_a_body_has_a_limit(server: NginxServer, host: str) -> None:
    """The limit is 3 MB: UpStage's, with room for the form around a file; on classic the article's 16 MB."""
    limit = (16 if host == "classic.localhost" else 3) * 1024 * 1024
    head = f"POST /upload HTTP/1.1\r\nHost: {host}\r\nContent-Length: %d\r\n\r\n"
    too_much = server.exchange((head % (limit + 1)).encode())
    assert too_much.status == 413
    assert "2 megabytes" in too_much.text
    assert server.request("/upload", host, "POST", body=b"x" * limit).status == 200
    assert [len(request.body) for request in server.requests] == [limit]


@pytest.mark.parametrize("host", [*SITES, "unknown.example"])
@pytest.mark.parametrize(
    ("start", "field", "status", "words"),
    [
        ("GET / HTTP/1.1", "Content-Length: x", 400, "does not support"),
        ("TRACE / HTTP/1.1", "Accept: */*", 405, "does not support"),
        ("GET / HTTP/1.1", f"Cookie: {'x' * 9000}", 431, "too much to remember.*The cookies"),
        ("GET / HTTP/2.0", "Accept: */*", 505, "does not support"),
    ],
)
def test_what_nginx_refuses_gets_our_page(
    server: NginxServer, host: str, start: str, field: str, status: int, words: str
) -> None:
    answer = server.exchange(f"{start}\r\nHost: {host}\r\n{field}\r\n\r\n".encode())
    assert answer.status == status
    assert re.search(words, answer.text.replace("\n", " "))
    assert "request " in answer.text
    assert "retry-after" not in answer.headers


@pytest.mark.parametrize("host", SITES)
def test_an_unreachable_upstream_is_our_503_page(server: NginxServer, host: str) -> None:
    origin: Origin = {"localhost": server.varnish, "classic.localhost": server.varnish_tcp}.get(
        host, server.backend
    )
    origin.close()
    try:
        answer = server.request("/", host)
        sent = server.exchange(f"POST / HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\n\r\n".encode())
    finally:
        origin.listen()
    assert (answer.status, sent.status) == (503, 503)
    assert answer.headers["retry-after"] == answer.headers["refresh"] == "5"
    assert "refresh" not in sent.headers
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["cache-status"] == "nginx; detail=error"
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "The curtain is down" in answer.text
    assert answer.headers["x-request-id"] in answer.text
    assert "nginx" not in answer.text


def test_the_page_has_the_colours_of_the_backends() -> None:
    page = (NGINX / "sites" / "error_page.html").read_text()
    colours = set(re.findall(r"#[0-9a-f]{6}", page))
    assert len(colours) == 8
    assert colours <= set(re.findall(r"#[0-9a-f]{6}", MAIN_CSS.read_text()))


def test_an_upstreams_own_error_page_is_kept(server: NginxServer) -> None:
    for origin in (server.varnish, server.backend):
        origin.answer = lambda _: response("mine", status="503 Service Unavailable")
    for host in ("localhost", "nginx.localhost"):
        answer = server.request("/error", host)
        assert (answer.status, answer.text) == (503, "mine")


def test_a_locust_user_that_names_no_site_gets_the_default_one(server: NginxServer) -> None:
    """Locust's Host header is the address of the load port."""
    answer = server.request("/", f"{server.address}:{server.load}", port=server.load)
    assert (answer.status, answer.text) == (200, "varnish")


def test_the_backends_metrics_are_on_the_load_port_only(server: NginxServer) -> None:
    assert server.request("/.nginx/backend", port=server.load).text == "metrics"
    assert server.metrics.requests[-1].target == "/metrics"
    assert server.request("/.nginx/backend").status == 404
    assert len(server.metrics.requests) == 1


@pytest.mark.parametrize("host", SITES)
@pytest.mark.parametrize(
    ("asked", "sent"),
    [
        ("/%61dmin/", "/admin/"),
        ("//admin/./x/../", "/admin/"),
        ("/media/%76ideo/ann.jpg", "/media/video/ann.jpg"),
        ("/a%20b%3Fc?d=%41&e", "/a%20b%3Fc?d=%41&e"),
        ("/caf%c3%a9/%2525", "/caf%C3%A9/%2525"),
        ("/café/", "/caf%C3%A9/"),
        ("/a%0d%0aX-Injected:1", "/a%0D%0AX-Injected:1"),
    ],
)
def test_a_url_has_one_spelling_behind_nginx(server: NginxServer, host: str, asked: str, sent: str) -> None:
    assert server.request(asked, host).status == 200
    (received,) = server.requests
    assert received.target == sent
    assert "x-injected" not in received.headers
    assert bool(server.backend.requests) == (
        "video" in sent or host in ("nginx.localhost", "static.localhost")
    )
