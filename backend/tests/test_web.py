"""The web site over a real socket: every URL, caching, invalid hosts, large bodies, odd paths."""

import re
import socket
from http.client import HTTPConnection
from pathlib import Path

import pytest

from running_backend import FORM, RUN, Backend, ask, make_content, make_site


def raw(server: Backend, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", server.web_port), 5) as connection:
        connection.sendall(request)
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
    return answer


SHARED = "max-age=0, s-maxage=1"
PRIVATE = "no-store"


@pytest.mark.parametrize(
    ("path", "kind", "cache", "body"),
    [
        ("/", "text/html; charset=utf-8", SHARED, rb"index demo:\d/\d"),
        ("/stages/", "text/html; charset=utf-8", SHARED, rb"stages Demo Stage"),
        ("/home", "text/html; charset=utf-8", SHARED, rb"index demo:\d/\d"),
        ("/stages/demo/log", "text/html; charset=utf-8", SHARED, rb"log demo"),
        ("/signup", "text/html; charset=utf-8", PRIVATE, rb"signup False None"),
        ("/media/thumb/ann.svg", "image/svg+xml", "public, no-cache", rb"<svg"),
        ("/stages/demo", "text/html; charset=utf-8", SHARED, rb"Demo Stage /script/[0-9a-f]{12}/main.js"),
        ("/admin/", "text/html; charset=utf-8", PRIVATE, rb"login None"),
        ("/health", "text/plain; charset=utf-8", "no-store", rb"ok\n"),
        ("/robots.txt", "text/plain; charset=utf-8", "max-age=3600", rb"User-agent: \*"),
        ("/crossdomain.xml", "application/xml", "max-age=3600", rb"<\?xml"),
        ("/favicon.ico", "image/svg+xml", "public, no-cache", rb"/\* image/favicon.svg"),
        ("/media/ann.svg", "image/svg+xml", "public, no-cache", rb"<svg"),
        ("/media/audio/bell.mp3", "audio/mpeg", "public, no-cache", rb"ID3 ding"),
        ("/media/bench/tiny.html", "text/html; charset=utf-8", "public, no-cache", rb"<!doctype html>"),
        ("/media/bench/small.swf", "application/x-shockwave-flash", "public, no-cache", rb"FWS\x08"),
        ("/style/main.css", "text/css; charset=utf-8", "public, no-cache", rb"/\* style/main.css"),
        (
            "/script/lib/wire.js",
            "text/javascript; charset=utf-8",
            "public, no-cache",
            rb"/\* script/lib",
        ),
    ],
)
def test_every_page_has_its_type_and_caching_headers(
    server: Backend, path: str, kind: str, cache: str, body: bytes
) -> None:
    answer = ask(server, path)
    assert answer.status == 200
    assert answer.headers["content-type"] == kind
    assert answer.headers["cache-control"] == cache
    assert re.match(body, answer.body)
    assert int(answer.headers["content-length"]) == len(answer.body)
    head = ask(server, path, "HEAD")
    assert (head.status, head.body) == (200, b"")
    assert head.headers["content-length"] == answer.headers["content-length"]
    for name in ("content-security-policy", "x-content-type-options", "referrer-policy"):
        assert head.headers[name]
    assert head.headers["server"] == "UpStage"


@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/stages/nowhere",
        "/stages/demo/deeper",
        "/stages/%ff",
        "/admin/nothing",
        "/admin/workshop",
        "/swf/client.swf",
        "/media/thumb",
        "/media/thumb/thumb/ann.svg",
        "/stages/nowhere/log",
        "/media",
        "/media/",
        "/media/bench",
        "/media/bench/",
        "/media/../data/admin-password",
        "/media/%2e%2e/log",
        "/media/..%2flog",
        "/media/%2Fetc%2Fpasswd",
        "/media//ann.svg",
        "/media/.ann.svg.new",
        "/media/ann.svg%00",
        "/media/ann.svg/",
        "/style/",
        "/script/0123456789ab/main.js",
        "/script/../templates/index.html",
        "/templates/index.html",
    ],
)
def test_missing_pages_get_404(server: Backend, path: str) -> None:
    for method in ("GET", "HEAD"):
        answer = ask(server, path, method)
        assert answer.status == 404
        assert answer.headers["cache-control"] == "no-store"
    assert ask(server, path).body.startswith(b"error 404 Not Found")


@pytest.mark.parametrize("path", ["/stages", "/admin"])
@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("stage.example.org", "stage.example.org"),
        ("stage.example.org:80", "stage.example.org"),
        ("LOCALHOST:8080", "localhost"),
        ("[::1]:8080", "[::1]"),
        ("my_stack_nginx", "my_stack_nginx"),
    ],
)
def test_redirects_name_our_own_port(server: Backend, path: str, host: str, name: str) -> None:
    answer = ask(server, path, Host=host)
    assert answer.status == 302
    assert answer.headers["location"] == f"http://{name}:{server.web_port}{path}/"
    assert b"http" not in answer.body
    assert str(server.web_port).encode() not in answer.body


@pytest.mark.parametrize("host", ["", "a b", "evil.org/x", "a@b", "[::1", "http://x", "x" * 300, "\xff"])
def test_an_invalid_host_gets_no_redirect(server: Backend, host: str) -> None:
    answer = ask(server, "/admin", Host=host)
    assert answer.status == 400
    assert "location" not in answer.headers


def test_a_redirect_without_a_host_gets_400(server: Backend) -> None:
    assert raw(server, b"GET /admin HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.0 400")


@pytest.mark.parametrize(
    ("path", "method", "status", "allow"),
    [
        ("/admin/login", "GET", 405, "POST"),
        ("/admin/login", "HEAD", 405, "POST"),
        ("/admin/logout", "GET", 405, "POST"),
        ("/", "POST", 405, "GET, HEAD"),
        ("/media/ann.svg", "DELETE", 405, "GET, HEAD"),
        ("/admin/workshop/stages", "PUT", 403, None),
        ("/", "BREW", 405, "GET, HEAD"),
    ],
)
def test_unsupported_methods_are_rejected(
    server: Backend, path: str, method: str, status: int, allow: str | None
) -> None:
    answer = ask(server, path, method)
    assert answer.status == status
    assert answer.headers.get("allow") == allow


@pytest.mark.parametrize("chunked", [False, True])
def test_a_large_body_is_rejected_without_being_kept(server: Backend, chunked: bool) -> None:
    # Reset the peak to the present value: at the start, Argon2 has used as much as this body has.
    Path(f"/proc/{server.process.pid}/clear_refs").write_text("5")
    before = peak_memory(server)
    size = 16 << 20
    connection = HTTPConnection("127.0.0.1", server.web_port, timeout=10)
    body = (b"x" * 65536 for _ in range(size // 65536))
    length = {} if chunked else {"Content-Length": str(size)}
    connection.request("POST", "/admin/login", body, {**FORM, **length}, encode_chunked=chunked)
    assert connection.getresponse().status == 413
    connection.close()
    assert peak_memory(server) - before < 4 << 20


def peak_memory(server: Backend) -> int:
    """Peak memory of the server, in bytes."""
    with open(f"/proc/{server.process.pid}/status") as status:
        return int(re.search(r"VmHWM:\s+(\d+)", status.read())[1]) * 1024  # type: ignore[index]


@pytest.mark.parametrize(
    "name",
    ["Host", "Origin", "Cookie", "Range", "If_None_Match", "If_Modified_Since", "Content_Type", "X_Real_IP"],
)
def test_invalid_bytes_in_a_header_are_no_server_error(server: Backend, name: str) -> None:
    for path, method in (("/media/ann.svg", "GET"), ("/admin/login", "POST"), ("/admin", "GET")):
        assert ask(server, path, method, **{name: "\xff\xfe"}).status < 500


def test_odd_requests_do_no_harm(server: Backend) -> None:
    for request in (b"OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", b"GET x HTTP/1.0\r\n\r\n"):
        answer = raw(server, request)
        assert answer.split(b" ")[1] in (b"404", b"405", b"200")
        assert b"Twisted" not in answer
    with socket.create_connection(("127.0.0.1", server.web_port), 5) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHos")  # and disconnects
    assert raw(server, b"\x16\x03\x01 hello\r\n\r\n").startswith(b"HTTP/1.1 400")


def test_an_internal_error_shows_no_traceback(tmp_path: Path) -> None:
    site, content = make_site(tmp_path / "site"), make_content(tmp_path / "content")
    (site / "templates" / "index.html").write_text("{{ no_such_variable }}")
    server = Backend(tmp_path, ["-c", RUN, str(site), str(content)])
    answer = ask(server, "/")
    assert (answer.status, answer.headers["cache-control"]) == (500, "no-store")
    assert answer.body.startswith(b"error 500 Internal Server Error")
    assert b"no_such_variable" not in answer.body
    assert ask(server, "/", "HEAD").body == b""
    [line, _] = server.logged("a request failed")
    assert "no_such_variable" in str(line["traceback"])
    assert server.stop() == 0


def test_each_request_is_one_log_line(server: Backend) -> None:
    headers = {"X_Request_Id": "0123456789abcdef-test", "X_Real_IP": "192.0.2.9"}
    ask(server, "/media/ann.svg?line=1", **headers)
    ask(server, "/stages/?line=2", X_Request_Id="too short", X_Forwarded_For="not an address")
    found: list[dict[str, object]] = []

    def written() -> bool:
        found[:] = [line for line in server.logged("request") if "line=" in str(line["path"])]
        return len(found) == 2

    server.wait_for(written)
    first, second = found
    assert first["request_id"] == "0123456789abcdef-test"
    assert first["client"] == "192.0.2.9"
    assert (first["method"], first["status"]) == ("GET", 200)
    assert first["bytes"] == (server.media / "ann.svg").stat().st_size
    assert "request_id" not in second
    assert second["client"] == "127.0.0.1"
