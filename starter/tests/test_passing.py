"""What goes past the cache: streams, WebSockets, uploads, other methods."""

import base64
import functools
import hashlib
import json
import random
import subprocess
import time

import pytest

from asking import BOTH, HTTPS, MEGABYTE, New, ask, connect
from support.wait import wait_until

pytestmark = pytest.mark.slow


@BOTH
@pytest.mark.parametrize(
    ("path", "method", "headers"),
    [
        pytest.param("/stream/sse", "GET", {"Accept": "text/event-stream"}, id="events, by Accept"),
        pytest.param("/stream/sse", "GET", {}, id="events"),
        pytest.param("/stream/ndjson", "GET", {}, id="ndjson"),
        pytest.param("/stream/ndjson", "POST", {}, id="ndjson by POST"),
        pytest.param("/stream/parts", "GET", {}, id="a page in parts"),
        pytest.param("/stream/parts", "GET", {"Cookie": "user=ann"}, id="a page in parts, signed in"),
    ],
)
def test_the_parts_of_a_stream_arrive_as_they_are_sent(
    base: str, path: str, method: str, headers: dict[str, str]
) -> None:
    connection = connect(base)
    connection.request(method, path, headers=headers)
    begin = time.monotonic()
    response = connection.getresponse()
    arrived = [time.monotonic() - begin for _ in iter(functools.partial(response.read1, 65536), b"")]
    connection.close()
    assert len(arrived) >= 4
    assert arrived[0] < 0.35 < 1 < arrived[-1]


@pytest.mark.parametrize(
    ("method", "accept"), [("GET", "*/*"), ("GET", "text/event-stream"), ("POST", "*/*")], ids=str
)
def test_a_client_that_reads_nothing_holds_no_worker(new: New, method: str, accept: str) -> None:
    """nginx has taken all 20 MB from the application, which a buffer of the kernel does not hold."""
    path = new("/large")
    connection = connect()
    connection.request(method, path, headers={"Accept": accept})
    wait_until(lambda: f"sent {path}" in json.loads(ask("/asked").text), within=20)
    connection.close()


@BOTH
def test_a_websocket_is_answered(base: str) -> None:
    connection = connect(base)
    connection.putrequest("GET", "/ws")
    key = base64.b64encode(random.randbytes(16)).decode()
    for name, value in {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Version": "13",
    }.items():
        connection.putheader(name, value)
    connection.putheader("Sec-WebSocket-Key", key)
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


@pytest.mark.parametrize("megabytes", [1, 50, 99])
def test_an_upload_arrives_whole(megabytes: int) -> None:
    data = random.randbytes(MEGABYTE) * megabytes
    assert ask("/upload", "POST", body=data).text == hashlib.sha256(data).hexdigest()


def test_an_upload_above_100_mb_is_refused_at_once_with_a_page_of_ours() -> None:
    connection = connect()
    connection.putrequest("POST", "/upload")
    connection.putheader("Content-Length", str(101 * MEGABYTE))
    connection.endheaders()
    response = connection.getresponse()
    assert response.status == 413
    assert b"larger than the site takes" in response.read()
    connection.close()


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND", "MKCOL"])
def test_a_method_arrives_as_it_is(method: str) -> None:
    response = ask("/echo", method)
    assert json.loads(response.text)["method"] == method
    assert response.cache == "nginx; fwd=method"


def test_head_is_answered_from_a_copy(new: New) -> None:
    ask(new("/page"))
    response = ask(new("/page"), "HEAD")
    assert (response.status, response.hit, response.body) == (200, True, b"")


def test_an_address_of_7_kb_arrives() -> None:
    assert ask("/echo?" + "x" * 7000).status == 200


def test_cookies_of_20_kb_arrive() -> None:
    assert ask("/echo", Cookie="a=" + "x" * 20000).status == 200


def test_cookies_of_40_kb_are_refused_with_a_page_of_ours() -> None:
    response = ask("/echo", Cookie="a=" + "x" * 40000)
    assert response.status == 431
    assert "delete the cookies" in response.text


def test_plain_http_on_the_port_of_https_is_sent_to_https() -> None:
    response = ask("/page", base=HTTPS.replace("https:", "http:"))
    assert (response.status, response.headers["Location"]) == (308, f"{HTTPS}/page")
