"""The web site over a real socket: every URL, and every response conforms to HTTP (RFC 9110, RFC 9111)."""

import re
import time
from datetime import datetime
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection
from pathlib import Path

import pytest

from backend.tests.running_backend import FORM, Backend, ask
from tests.support.http import Response
from upstage.web.urls import ROBOTS

SHARED = "max-age=0, s-maxage=1"
PRIVATE = "no-store"
REVALIDATE = "public, no-cache"
HTML, TEXT = "text/html; charset=utf-8", "text/plain; charset=utf-8"
FILE = "/media/bench/small.swf"


PAGES = [
    ("/", HTML, SHARED, rb'href="/stages/demo"'),
    ("/stages/", HTML, SHARED, rb"Demo Stage"),
    ("/home", HTML, SHARED, rb'href="/stages/demo"'),
    ("/stages/demo", HTML, SHARED, rb"/script/[0-9a-f]{12}/main.js"),
    ("/stages/demo/log", HTML, SHARED, rb"Demo Stage: what was said"),
    ("/signup", HTML, PRIVATE, rb"upstage player add"),
    ("/admin/", HTML, PRIVATE, rb"Stage door"),
    ("/admin/id", TEXT, PRIVATE, rb"^player=nice\+visitor&key=[0-9a-f]{32}(&can(Act|Admin|Su)=False){3}$"),
    ("/health", TEXT, PRIVATE, rb"ok\n"),
    ("/robots.txt", TEXT, "max-age=3600", rb"User-agent: \*"),
    ("/crossdomain.xml", "application/xml", "max-age=3600", rb"<\?xml"),
    ("/favicon.ico", "image/svg+xml", REVALIDATE, rb"<svg"),
    ("/media/fox.svg", "image/svg+xml", REVALIDATE, rb"<svg"),
    ("/media/thumb/fox.svg", "image/svg+xml", REVALIDATE, rb"<svg"),
    ("/media/audio/curtain-bell.mp3", "audio/mpeg", REVALIDATE, rb"ID3"),
    ("/media/bench/tiny.html", HTML, REVALIDATE, rb"<!doctype html>"),
    (FILE, "application/x-shockwave-flash", REVALIDATE, rb"FWS\x08"),
    ("/style/main.css", "text/css; charset=utf-8", REVALIDATE, rb"--ink: "),
    ("/script/wire.js", "text/javascript; charset=utf-8", REVALIDATE, rb"export "),
]


@pytest.mark.parametrize(("path", "kind", "cache", "body"), PAGES)
def test_every_page_has_its_type_and_caching_headers(
    server: Backend, path: str, kind: str, cache: str, body: bytes
) -> None:
    response = ask(server, path)
    assert (response.headers["content-type"], response.headers["cache-control"]) == (kind, cache)
    assert re.search(body, response.body)
    for name in ("content-security-policy", "x-content-type-options", "referrer-policy"):
        assert response.headers[name]
    assert response.headers["server"] == "UpStage"
    conforms(response)
    check_head(response, ask(server, path, "HEAD"))


REQUESTS: list[tuple[str, str, dict[str, str], int]] = [
    (FILE, "GET", {"Range": "bytes=0-0"}, 206),
    ("/stages", "GET", {}, 302),
    ("/admin/workshop/media", "GET", {}, 302),
    (FILE, "GET", {"If_None_Match": "*"}, 304),
    ("/media/thumb/fox.svg", "GET", {"If_None_Match": "*", "Range": "bytes=0-0"}, 304),
    ("/style/main.css", "GET", {"If_Modified_Since": "Fri, 01 Jan 2100 00:00:00 GMT"}, 304),
    ("/stages", "GET", {"Host": "a b"}, 400),
    ("/admin/login", "POST", {}, 401),
    ("/admin/logout", "POST", {}, 403),
    ("/signup", "POST", {"Content_Type": "text/plain"}, 403),
    ("/admin/workshop/media", "POST", {}, 403),
    ("/media/video/x.png", "GET", {}, 403),
    ("/nothing", "GET", {}, 404),
    ("/speech/utter-1.mp3", "GET", {}, 404),
    ("/media/video/unknown.jpg", "GET", {}, 404),
    ("/", "POST", {}, 405),
    ("/", "BREW", {}, 405),
    ("/admin/login", "GET", {}, 405),
    ("/admin/login", "POST", {"Content_Type": "text/plain"}, 415),
    (FILE, "GET", {"Range": "bytes=75000-"}, 416),
    ("/ws", "GET", {}, 426),
]


@pytest.mark.parametrize(("path", "method", "headers", "status"), REQUESTS)
def test_a_response_conforms(
    server: Backend, path: str, method: str, headers: dict[str, str], status: int
) -> None:
    body = b"username=nobody&password=wrong" if method == "POST" else b""
    sent = {**(FORM if body else {}), "X_Real_IP": f"2001:db8::{time.monotonic_ns() & 0xFFFF:x}", **headers}
    response = ask(server, path, method, body, **sent)
    assert response.status == status
    conforms(response)
    if status not in (206, 416) and method == "GET":  # HEAD knows no ranges
        check_head(response, ask(server, path, "HEAD", **sent))


def conforms(response: Response) -> None:
    """Require each field only once, printable values, the right time, and the fields of the status."""
    headers, status = response.headers, response.status
    assert len(response.fields) == len(headers)
    assert all(re.fullmatch(r"[\x20-\x7e]*", value) for value in headers.values())
    assert abs(time.time() - date(headers, "date").timestamp()) < 5
    assert headers["x-content-type-options"] == "nosniff"
    check_caching(response)
    for name, pattern in NEEDED.get(status, {}).items():
        assert re.fullmatch(pattern, headers[name])
    assert ("content-range" in headers) == (status in (206, 416))
    if status in (304, 416):
        assert (response.body, headers.get("content-length", "")) == (b"", "0" if status == 416 else "")
        return
    assert int(headers["content-length"]) == len(response.body) > 0
    assert not headers["content-type"].startswith("text/") or headers["content-type"].endswith(
        "; charset=utf-8"
    )
    if status == 206:
        first, last, size = map(int, re.findall(r"\d+", headers["content-range"]))
        assert last - first + 1 == len(response.body) <= size
    if status >= 400:
        assert "no-store" in headers["cache-control"]
        assert not set(headers) & {"etag", "last-modified", "accept-ranges", "location"}


# Fields of some statuses; those of a 304 are the fields of a 200 that a cache needs (RFC 9110, 15.4.5).
NEEDED = {
    206: {"content-range": r"bytes \d+-\d+/\d+"},
    302: {"location": r"http://[^/]+:\d+/[a-z/]*"},
    304: {"etag": ".+", "cache-control": ".+"},
    401: {"www-authenticate": 'Form realm="UpStage"'},
    405: {"allow": "GET, HEAD|POST"},
    416: {"content-range": r"bytes \*/75000"},
    426: {"upgrade": "websocket", "connection": "upgrade"},
}


def date(headers: dict[str, str], name: str) -> datetime:
    assert re.fullmatch(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT", headers[name])
    return parsedate_to_datetime(headers[name])


def check_caching(response: Response) -> None:
    """Require caching headers that do not contradict each other, and no cacheable personal responses."""
    directives = [part.strip() for part in response.headers["cache-control"].split(",")]
    names = {part.partition("=")[0] for part in directives}
    assert len(names) == len(directives)
    assert names <= {"public", "private", "no-cache", "no-store", "max-age", "s-maxage", "immutable"}
    assert not {"public", "private"} <= names
    if "no-store" in names:
        assert names <= {"no-store", "private"}
        assert not set(response.headers) & {"expires", "x-cache-tags"}
    if "no-cache" in names:
        assert not names & {"max-age", "s-maxage", "immutable"}
    if "public" in names:
        assert "set-cookie" not in response.headers
    if "no-cache" in names or "immutable" in names:  # clients will revalidate it
        assert re.fullmatch(r'"[0-9a-f]+-[0-9a-f]+"', response.headers["etag"])
        assert date(response.headers, "last-modified") <= date(response.headers, "date")


def check_head(get: Response, head: Response) -> None:
    """Require the same response as to GET, without the content."""
    assert head.body == b""
    assert head.status == get.status
    changing = {"date", "set-cookie"}
    assert {name: value for name, value in head.headers.items() if name not in changing} == {
        name: value for name, value in get.headers.items() if name not in changing
    }
    assert ("set-cookie" in head.headers) == ("set-cookie" in get.headers)


@pytest.mark.parametrize(
    "path",
    [
        *("/nothing", "/stages/nowhere", "/stages/demo/deeper", "/stages/%ff", "/admin/nothing"),
        *("/admin/workshop", "/swf/client.swf", "/media/thumb", "/media/thumb/thumb/fox.svg"),
        *("/stages/nowhere/log", "/media", "/media/", "/media/bench", "/media/bench/"),
        *("/media/../data/admin-password", "/media/%2e%2e/log", "/media/..%2flog"),
        *("/media/%2Fetc%2Fpasswd", "/media//fox.svg", "/media/.fox.svg.new", "/media/fox.svg%00"),
        *("/media/fox.svg/", "/style/", "/script/0123456789ab/main.js"),
        *("/script/../templates/index.html", "/templates/index.html"),
        *(f"/speech/{name}" for name in ("utter-01.mp3", "utter-.mp3", "next-number", "", "../x")),
    ],
)
def test_missing_pages_get_404(server: Backend, path: str) -> None:
    for method in ("GET", "HEAD"):
        response = ask(server, path, method)
        assert (response.status, response.headers["cache-control"]) == (404, "no-store")
    assert ask(server, path).text.count("<title>Not Found") == 1


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
    response = ask(server, path, Host=host)
    assert response.status == 302
    assert response.headers["location"] == f"http://{name}:{server.web_port}{path}/"
    assert b"http" not in response.body
    assert str(server.web_port).encode() not in response.body


@pytest.mark.parametrize(
    ("headers", "client"),
    [
        ({}, "127.0.0.1"),
        ({"X_Request_Id": "0123456789abcdef-test", "X_Real_IP": "192.0.2.9"}, "192.0.2.9"),
        ({"X_Forwarded_For": "192.0.2.1"}, "192.0.2.1"),
        ({"X_Forwarded_For": "192.0.2.66, 192.0.2.1"}, "192.0.2.1"),
        ({"X_Forwarded_For": "192.0.2.66,2001:db8::1"}, "2001:db8::1"),
        ({"X_Forwarded_For": "192.0.2.66, "}, "127.0.0.1"),
        ({"X_Forwarded_For": "192.0.2.66, unknown"}, "127.0.0.1"),
        ({"X_Forwarded_For": "192.0.2.66", "X_Real_IP": "192.0.2.1"}, "192.0.2.1"),
        ({"X_Real_IP": "192.0.2.1, 192.0.2.66"}, "127.0.0.1"),
        ({"X_Real_IP": "192.0.2.1\xff"}, "127.0.0.1"),
    ],
)
def test_each_request_is_one_log_line_with_the_client_that_the_proxy_names(
    server: Backend, headers: dict[str, str], client: str
) -> None:
    path = f"/robots.txt?{time.monotonic_ns()}"
    ask(server, path, **headers)
    server.wait_for(lambda: any(line["path"] == path for line in server.logged("request")))
    [line] = [line for line in server.logged("request") if line["path"] == path]
    assert (line["client"], line["method"], line["status"]) == (client, "GET", 200)
    assert line["bytes"] == len(ROBOTS)
    assert line.get("request_id") == headers.get("X_Request_Id")


@pytest.mark.parametrize("chunked", [False, True])
def test_a_large_body_is_rejected_without_being_kept(server: Backend, chunked: bool) -> None:
    # Reset the peak to the present value: at the start, Argon2 has used as much memory as this body takes.
    Path(f"/proc/{server.process.pid}/clear_refs").write_text("5")
    before = peak_memory(server)
    size = 16 << 20
    connection = HTTPConnection("127.0.0.1", server.web_port, timeout=60)
    body = (b"x" * 65536 for _ in range(size // 65536))
    length = {} if chunked else {"Content-Length": str(size)}
    connection.request("POST", "/admin/login", body, {**FORM, **length}, encode_chunked=chunked)
    assert connection.getresponse().status == 413
    connection.close()
    assert peak_memory(server) - before < 4 << 20


def peak_memory(server: Backend) -> int:
    """Return the peak memory of the server, in bytes."""
    with open(f"/proc/{server.process.pid}/status") as status:
        return int(re.search(r"VmHWM:\s+(\d+)", status.read())[1]) * 1024  # type: ignore[index]


@pytest.mark.parametrize(
    "name",
    ["Host", "Origin", "Cookie", "Range", "If_None_Match", "If_Modified_Since", "Content_Type", "X_Real_IP"],
)
def test_invalid_bytes_in_a_header_are_no_server_error(server: Backend, name: str) -> None:
    for path, method in (("/media/fox.svg", "GET"), ("/admin/login", "POST"), ("/admin", "GET")):
        assert ask(server, path, method, **{name: "\xff\xfe"}).status < 500


def test_an_internal_error_shows_no_traceback(tmp_path: Path) -> None:
    broken = (
        "from upstage import cli; from upstage.web import pages; pages.stage_list = None; cli.main(['serve'])"
    )
    server = Backend(tmp_path, ["-c", broken])
    response = ask(server, "/")
    assert (response.status, response.headers["cache-control"]) == (500, "no-store")
    assert "<title>Internal Server Error" in response.text
    assert "NoneType" not in response.text
    assert ask(server, "/", "HEAD").body == b""
    [line, _] = server.logged("a request failed")
    assert "NoneType" in str(line["traceback"])
    assert server.stop() == 0
