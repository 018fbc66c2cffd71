"""The web site over a real socket: every URL, and every response conforms to HTTP (RFC 9110, RFC 9111)."""

import re
import time
from datetime import datetime
from email.utils import parsedate_to_datetime

import pytest

from running_backend import FORM, Backend, ask
from support.http import Response
from upstage.web.urls import ROBOTS

SHARED = "max-age=0, s-maxage=1"
PRIVATE = "no-store"
REVALIDATE = "public, no-cache"
HTML, TEXT = "text/html; charset=utf-8", "text/plain; charset=utf-8"
FILE = "/media/bench/small.swf"
OLD = "Thu, 01 Jan 1998 00:00:00 GMT"


PAGES = [
    ("/", HTML, SHARED, rb'href="/stages/demo"'),
    ("/stages/", HTML, SHARED, rb"Demo Stage"),
    ("/home", HTML, SHARED, rb'href="/stages/demo"'),
    ("/stages/demo", HTML, SHARED, rb"/script/[0-9a-f]{12}/main.js"),
    ("/stages/demo/log", HTML, SHARED, rb"Demo Stage: what was said"),
    ("/signup", HTML, PRIVATE, rb"upstage player add"),
    ("/admin/", HTML, PRIVATE, rb"Stage door"),
    ("/admin/id", TEXT, PRIVATE, rb"player=nice\+visitor"),
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
    answer = ask(server, path)
    assert (answer.headers["content-type"], answer.headers["cache-control"]) == (kind, cache)
    assert re.search(body, answer.body)
    for name in ("content-security-policy", "x-content-type-options", "referrer-policy"):
        assert answer.headers[name]
    assert answer.headers["server"] == "UpStage"


REQUESTS: list[tuple[str, str, dict[str, str], int]] = [
    *((path, "GET", {}, 200) for path, *_ in PAGES),
    (FILE, "GET", {"If_Modified_Since": OLD}, 200),
    (FILE, "GET", {"Range": "bytes=0-0"}, 206),
    (FILE, "GET", {"Range": "bytes=-5", "If_None_Match": '"x"'}, 206),
    ("/stages", "GET", {}, 302),
    ("/admin", "GET", {"Host": "[::1]:8080"}, 302),
    ("/admin/workshop/media", "GET", {}, 302),
    (FILE, "GET", {"If_None_Match": "*"}, 304),
    ("/media/thumb/fox.svg", "GET", {"If_None_Match": "*", "Range": "bytes=0-0"}, 304),
    ("/style/main.css", "GET", {"If_Modified_Since": "Fri, 01 Jan 2100 00:00:00 GMT"}, 304),
    ("/stages", "GET", {"Host": "a b"}, 400),
    ("/admin/login", "POST", {}, 401),
    ("/admin/logout", "POST", {}, 403),
    ("/admin/workshop/media", "POST", {}, 403),
    ("/media/video/x.png", "GET", {}, 403),
    ("/nothing", "GET", {}, 404),
    ("/media/nothing.png", "GET", {}, 404),
    ("/speech/utter-1.mp3", "GET", {}, 404),
    ("/media/video/unknown.jpg", "GET", {}, 404),
    ("/script/0123456789ab/main.js", "GET", {}, 404),
    ("/", "POST", {}, 405),
    (FILE, "PUT", {}, 405),
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
    answer = ask(server, path, method, body, **sent)
    assert answer.status == status
    check_fields(answer)
    check_caching(answer)
    CHECKS.get(status, check_error if status >= 400 else check_content)(answer)
    if status not in (206, 416) and method == "GET":  # HEAD knows no ranges
        check_head(answer, ask(server, path, "HEAD", **sent))


def check_fields(answer: Response) -> None:
    """Every field once, printable values, and the right time."""
    assert len(answer.fields) == len(answer.headers)
    assert all(re.fullmatch(r"[\x20-\x7e]*", value) for value in answer.headers.values())
    assert abs(time.time() - date(answer.headers, "date").timestamp()) < 5
    kind = answer.headers.get("content-type", "")
    if kind.startswith("text/"):
        assert kind.endswith("; charset=utf-8")
    assert answer.headers["x-content-type-options"] == "nosniff"


def date(headers: dict[str, str], name: str) -> datetime:
    assert re.fullmatch(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT", headers[name])
    return parsedate_to_datetime(headers[name])


def check_caching(answer: Response) -> None:
    """The caching headers do not contradict each other; personal responses are not cacheable."""
    directives = [part.strip() for part in answer.headers["cache-control"].split(",")]
    names = {part.partition("=")[0] for part in directives}
    assert len(names) == len(directives)
    assert names <= {"public", "private", "no-cache", "no-store", "max-age", "s-maxage", "immutable"}
    assert not {"public", "private"} <= names
    if "no-store" in names:
        assert names <= {"no-store", "private"}
        assert not set(answer.headers) & {"expires", "x-cache-tags"}
    if "no-cache" in names:
        assert not names & {"max-age", "s-maxage", "immutable"}
    if "public" in names:
        assert "set-cookie" not in answer.headers
    if "no-cache" in names or "immutable" in names:  # it will be asked for again
        assert re.fullmatch(r'"[0-9a-f]+-[0-9a-f]+"', answer.headers["etag"])
        assert date(answer.headers, "last-modified") <= date(answer.headers, "date")


def check_content(answer: Response) -> None:
    assert int(answer.headers["content-length"]) == len(answer.body) > 0
    assert answer.headers["content-type"]
    assert "content-range" not in answer.headers


def check_part(answer: Response) -> None:
    assert int(answer.headers["content-length"]) == len(answer.body)
    span = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+)", answer.headers["content-range"])
    assert span
    first, last, size = map(int, span.groups())
    assert last - first + 1 == len(answer.body) <= size


def check_redirect(answer: Response) -> None:
    check_content(answer)
    assert re.fullmatch(r"http://[^/]+:\d+/[a-z/]*", answer.headers["location"])


def check_unchanged(answer: Response) -> None:
    """The header fields of a 200 that a cache needs (RFC 9110, 15.4.5)."""
    assert answer.body == b""
    assert not set(answer.headers) & {"content-length", "content-range"}
    assert {"date", "etag", "cache-control"} <= set(answer.headers)


def check_error(answer: Response) -> None:
    check_content(answer)
    assert "no-store" in answer.headers["cache-control"]
    assert not set(answer.headers) & {"etag", "last-modified", "accept-ranges", "location"}


def check_unauthorized(answer: Response) -> None:
    check_error(answer)
    assert answer.headers["www-authenticate"] == 'Form realm="UpStage"'


def check_method(answer: Response) -> None:
    check_error(answer)
    assert answer.headers["allow"] in ("GET, HEAD", "POST")


def check_no_part(answer: Response) -> None:
    assert answer.headers["content-range"] == "bytes */75000"
    assert (answer.headers["content-length"], answer.body) == ("0", b"")


def check_upgrade(answer: Response) -> None:
    check_error(answer)
    assert answer.headers["upgrade"] == "websocket"
    assert answer.headers["connection"] == "upgrade"


CHECKS = {
    206: check_part,
    302: check_redirect,
    304: check_unchanged,
    401: check_unauthorized,
    405: check_method,
    416: check_no_part,
    426: check_upgrade,
}


def check_head(get: Response, head: Response) -> None:
    """The same, without the content."""
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
        answer = ask(server, path, method)
        assert answer.status == 404
        assert answer.headers["cache-control"] == "no-store"
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
    answer = ask(server, path, Host=host)
    assert answer.status == 302
    assert answer.headers["location"] == f"http://{name}:{server.web_port}{path}/"
    assert b"http" not in answer.body
    assert str(server.web_port).encode() not in answer.body


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
