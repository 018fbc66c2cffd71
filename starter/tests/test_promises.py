"""The promises of starter/README.md, with an application that does what proxies often break
(app.py).

The VTCs here test default.vcl; these tests are for nginx.conf, and for all parts together.
"""

import base64
import functools
import hashlib
import json
import random
import subprocess
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from starter.tests.asking import BOTH, HTTPS, MEGABYTE, TOKEN, App, New, ask, connect
from tests.support.wait import wait_until

pytestmark = pytest.mark.slow


# --- Copies


def test_a_page_is_kept_for_visitors(new: New) -> None:
    path = new("/page")
    first, second = ask(path), ask(f"{path}?utm_source=x", Cookie="_ga=1", Accept_Encoding="gzip")
    assert "; stored; ttl=" in first.cache
    assert (second.hit, second.headers["Content-Encoding"]) == (True, "gzip")
    assert ask(path).text == first.text
    head = ask(path, "HEAD")
    assert (head.status, head.hit, head.body) == (200, True, b"")
    mine = ask(path, Cookie="_ga=1; user=ann")
    assert (mine.text != first.text, mine.cache) == (True, "varnish; fwd=bypass; detail=cookie")


@pytest.mark.parametrize("cookie", [{}, {"Cookie": "user=ann"}], ids=["visitor", "signed-in"])
def test_what_is_not_kept_has_the_applications_own_ranges_and_304(cookie: dict[str, str]) -> None:
    whole = ask("/large", headers=cookie)
    assert len(whole.body) == 20 * MEGABYTE
    part = ask("/large", headers=cookie, Range="bytes=5000000-5000099")
    assert (part.status, part.body, part.hit) == (206, whole.body[5000000:5000100], False)
    assert ask("/large", headers=cookie, If_None_Match='"large"').status == 304


# --- An application that fails


def test_the_old_copy_is_sent_while_the_application_is_down(new: New, app: App) -> None:
    path = new("/page") + "?age=1"
    first = ask(path)
    time.sleep(12.5)
    app.stop()
    response = ask(path)
    assert (response.status, response.text, "detail=stale" in response.cache) == (200, first.text, True)


def test_the_applications_own_error_page_arrives() -> None:
    response = ask("/down")
    assert (response.status, response.headers["Retry-After"]) == (503, "77")
    assert "own 503" in response.text


def test_without_a_copy_the_503_page_is_sent_until_the_application_is_back(new: New, app: App) -> None:
    app.stop()
    for method in ("GET", "POST"):
        for cookie in ({}, {"Cookie": "user=ann"}):
            response = ask(new("/page"), method, headers=cookie)
            assert (response.status, response.headers["Retry-After"]) == (503, "5")
            assert "One moment, please" in response.text
            assert response.headers["Cache-Control"] == "no-store"
    app.start()
    time.sleep(1.1)  # for a second, clients share a failure
    assert ask(new("/page")).status == 200


# --- What goes past the cache: streams, WebSockets, uploads, other methods


@BOTH
@pytest.mark.parametrize(
    ("path", "method", "headers"),
    [
        pytest.param("/stream/sse", "GET", {"Accept": "text/event-stream"}, id="events, by Accept"),
        pytest.param("/stream/sse", "GET", {}, id="events"),
        pytest.param("/stream/ndjson", "GET", {}, id="ndjson"),
        pytest.param("/stream/ndjson", "POST", {}, id="ndjson by POST"),
        pytest.param("/stream/parts", "GET", {}, id="a page in parts"),
        pytest.param("/stream/parts?extended=1", "GET", {}, id="extensions of chunks, a trailer"),
        pytest.param("/stream/parts", "GET", {"Cookie": "user=ann"}, id="a page in parts, signed in"),
    ],
)
def test_the_parts_of_a_stream_arrive_as_they_are_sent(
    base: str, path: str, method: str, headers: dict[str, str]
) -> None:
    connection = connect(base)
    connection.request(method, path, headers=headers)
    response = connection.getresponse()
    parts = [(part, time.monotonic()) for part in iter(functools.partial(response.read1, 65536), b"")]
    connection.close()
    assert b"".join(part for part, _ in parts) == b"".join(b"data: %d\n\n" % part for part in range(5))
    assert len(parts) >= 4
    assert parts[-1][1] - parts[0][1] > 1


WAYS = pytest.mark.parametrize(
    ("method", "accept"), [("GET", "*/*"), ("GET", "text/event-stream"), ("POST", "*/*")], ids=str
)


@WAYS
def test_a_client_that_reads_nothing_holds_no_worker(new: New, method: str, accept: str) -> None:
    """nginx takes all 20 MB from the application, more than the kernel's buffers hold."""
    path = new("/large")
    connection = connect()
    connection.request(method, path, headers={"Accept": accept})
    wait_until(lambda: path in json.loads(ask("/sent").text))
    connection.close()


@BOTH
def test_a_websocket_is_answered(base: str) -> None:
    connection = connect(base)
    connection.putrequest("GET", "/ws")
    for name, value in {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": base64.b64encode(random.randbytes(16)).decode(),
    }.items():
        connection.putheader(name, value)
    connection.endheaders()
    wire = connection.sock
    assert b" 101 " in wire.recv(4096)
    wire.sendall(b"\x81\x82\0\0\0\0hi")
    assert wire.recv(4096) == b"\x81\x02hi"
    connection.close()


@pytest.mark.parametrize("protocol", ["--http1.0", "--http2"])
def test_upgrade_concerns_http_1_1_alone(protocol: str) -> None:
    fields = ("-H", "Upgrade: websocket", "-H", "Connection: Upgrade")
    command = ("curl", "-sk", protocol, "-X", "POST", *fields, f"{HTTPS}/echo")
    heard = json.loads(subprocess.check_output(command, timeout=20))
    assert "upgrade" not in heard


def test_an_upload_of_99_mb_arrives_whole() -> None:
    data = random.randbytes(MEGABYTE) * 99
    assert ask("/upload", "POST", body=data).text == hashlib.sha256(data).hexdigest()


def test_a_method_arrives_as_it_is() -> None:
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND", "MKCOL"):
        response = ask("/echo", method)
        assert json.loads(response.text)["method"] == method
        assert response.cache == "nginx; fwd=method"


def test_long_addresses_and_cookies_arrive() -> None:
    assert ask("/echo?" + "x" * 7000).status == 200
    assert ask("/echo", Cookie="a=" + "x" * 20000).status == 200


# In several lines, as browsers send them over HTTP/2.
COOKIES = [word for number in range(4) for word in ("-H", f"Cookie: {number}={'x' * 10000}")]


@pytest.mark.parametrize(
    ("status", "words", "arguments"),
    [
        pytest.param(413, "larger than the site takes", ("-T", "large"), id="an upload"),
        pytest.param(431, "delete the cookies", COOKIES, id="cookies"),
        pytest.param(405, "does not understand", ("-X", "PURGE"), id="a purge"),
        pytest.param(405, "does not understand", ("-X", "TRACE"), id="a method"),
    ],
)
@pytest.mark.parametrize("protocol", ["--http1.1", "--http2"])
def test_what_is_refused_gets_our_page(
    protocol: str, status: int, words: str, arguments: tuple[str, ...], tmp_path: Path
) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.truncate(101 * MEGABYTE)
    command = ("curl", "-sk", protocol, "-w", "%{http_code}", *arguments, f"{HTTPS}/upload")
    page = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=20).stdout
    assert (words in page, page[-3:]) == (True, str(status))


def test_plain_http_on_the_port_of_https_is_sent_to_https() -> None:
    response = ask("/page", base=HTTPS.replace("https:", "http:"))
    assert (response.status, response.headers["Location"]) == (308, f"{HTTPS}/page")


# --- Purging


@BOTH
def test_purging_is_refused_without_the_token(new: New, base: str) -> None:
    first = ask(new("/page"), base=base)
    for method in ("PURGE", "BAN"):
        for shown in ({}, {"X-Purge-Token": ""}, {"X-Purge-Token": "wrong"}):
            assert ask(new("/page"), method, base=base, headers=shown).status == 405
    assert ask(new("/page"), base=base).text == first.text


def test_the_token_purges_by_path_and_tag_and_opens_nothing_else(new: New) -> None:
    path = new("/page")
    assert ask(path).text == ask(path, X_Purge_Token=TOKEN).text
    tags = [{name: "news"} for name in ("X-Cache-Tags", "Surrogate-Key", "xkey", "Cache-Tags")]
    for target, method, how in ((path, "PURGE", {}), *(("/", "BAN", tag) for tag in tags)):
        before = ask(path)
        assert ask(target, method, headers=how, X_Purge_Token=TOKEN).status == 200
        assert ask(path).text != before.text


# --- What the application may believe about a request

FORGED = (
    *("Client-IP", "Forwarded", "Proxy", "Remote-User", "True-Client-IP", "X-Forwarded-For"),
    *("X-Forwarded-Host", "X-Forwarded-Port", "X-Forwarded-Prefix", "X-Forwarded-Proto"),
    *("X-Forwarded-Scheme", "X-Forwarded-Server", "X-Forwarded-User", "X-Host", "X-Original-URL"),
    *("X-Purge-Token", "X-Real-IP", "X-Rewrite-URL", "X-Script-Name"),
)


@BOTH
@WAYS
def test_what_is_forged_does_not_arrive(base: str, method: str, accept: str) -> None:
    forged = dict.fromkeys(FORGED, "evil") | {"X-Old": "failed", "X-Static": "yes", "Accept": accept}
    heard = json.loads(ask("/echo.css", method, base=base, headers=forged).text)
    assert "evil" not in str(heard)
    assert not {"x-old", "x-static"} & set(heard)
    url = urlsplit(base)
    assert heard["x-forwarded-proto"] == url.scheme
    assert heard["host"] == heard["x-forwarded-host"] == url.netloc
    assert heard["x-forwarded-port"] == str(url.port)
    assert heard["x-forwarded-for"] == heard["x-real-ip"]
