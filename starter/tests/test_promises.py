"""The starter's promises, one test each, against a nasty application (app.py) behind the running starter.

conftest.py starts it. Variables name one that runs: STARTER_HTTP and STARTER_HTTPS, its addresses;
STARTER_TOKEN, PURGE_TOKEN of its .env; STARTER_APP_PORT, where app.py is to listen, as APP says.
"""

import base64
import concurrent.futures
import functools
import hashlib
import http.client
import json
import os
import random
import socket
import ssl
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest

pytestmark = pytest.mark.slow

HTTP = os.environ.get("STARTER_HTTP", "http://localhost:8080")
HTTPS = os.environ.get("STARTER_HTTPS", "https://localhost:8443")
TOKEN = os.environ.get("STARTER_TOKEN", "")
APP_PORT = int(os.environ.get("STARTER_APP_PORT", "8000"))
BOTH = pytest.mark.parametrize("base", [HTTP, HTTPS], ids=["http", "https"])
MEGABYTE = 1 << 20


@dataclass
class Response:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode(errors="replace")

    @property
    def cache(self) -> str:
        return self.headers.get("Cache-Status", "")

    @property
    def hit(self) -> bool:
        return "; hit" in self.cache


def connect(base: str = HTTP) -> http.client.HTTPConnection:
    url = urlsplit(base)
    assert url.hostname
    if url.scheme == "https":
        context = ssl._create_unverified_context()  # the certificate is one for a trial
        return http.client.HTTPSConnection(url.hostname, url.port, timeout=90, context=context)
    return http.client.HTTPConnection(url.hostname, url.port, timeout=90)


def ask(
    path: str,
    method: str = "GET",
    *,
    base: str = HTTP,
    user: str = "",
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    **more_headers: str,
) -> Response:
    sent = {**(headers or {}), **{name.replace("_", "-"): value for name, value in more_headers.items()}}
    if user:
        sent["Cookie"] = f"user={user}"
    connection = connect(base)
    try:
        connection.request(method, path, body, sent)
        response = connection.getresponse()
        return Response(response.status, response.headers, response.read())
    finally:
        connection.close()


def at_once(count: int, task: Callable[[], Response]) -> tuple[float, list[Response]]:
    """The seconds that this many clients need together, and what they get."""
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        responses = list(pool.map(lambda _: task(), range(count)))
    return time.monotonic() - begin, responses


class App:
    """app.py as a process of its own."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.process = subprocess.Popen([sys.executable, Path(__file__).with_name("app.py"), str(APP_PORT)])
        for _ in range(100):
            try:
                socket.create_connection(("127.0.0.1", APP_PORT), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise TimeoutError("app.py does not listen")

    def stop(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def read(self, path: str) -> dict[str, float]:
        with urllib.request.urlopen(f"http://127.0.0.1:{APP_PORT}{path}") as response:
            answer: dict[str, float] = json.load(response)
        return answer

    def asked(self, path: str) -> float:
        return self.read("/asked").get(path, 0)


@pytest.fixture(scope="module")
def running() -> Iterator[App]:
    app = App()
    app.start()
    yield app
    app.stop()


@pytest.fixture(autouse=True)
def app(running: App) -> App:
    """The application: up, well and quick before each test."""
    if running.process is None:
        running.start()
    running.read("/set?fail=0&slow=0")
    return running


@pytest.fixture
def new(request: pytest.FixtureRequest) -> Callable[[str], str]:
    """Makes an address that no test has asked for before: new("/page") is /page-81b2."""
    unique = hashlib.sha256(f"{request.node.nodeid} {time.time()}".encode()).hexdigest()[:10]
    return lambda path: f"{path}-{unique}"


New = Callable[[str], str]


# --- What is kept -------------------------------------------------------------------------------------------


def test_a_page_is_kept_as_its_headers_say(new: New) -> None:
    first, second = ask(new("/page")), ask(new("/page"))
    assert (first.text, second.hit) == (second.text, True)
    assert "; stored; ttl=" in first.cache


@pytest.mark.parametrize("cookie", ["_ga=GA1.2", "_fbp=x; _gid=1", "_pk_id.1=a; _hjSession_1=b; has_js=1"])
def test_analytics_cookies_do_not_count(new: New, cookie: str) -> None:
    ask(new("/page"))
    assert ask(new("/page"), Cookie=cookie).hit


@pytest.mark.parametrize("query", ["utm_source=x&utm_medium=y", "fbclid=z", "gclid=1&msclkid=2"])
def test_campaign_arguments_do_not_count(new: New, query: str) -> None:
    ask(new("/page"))
    assert ask(f"{new('/page')}?{query}").hit


def test_other_arguments_count(new: New) -> None:
    assert ask(new("/page")).text != ask(new("/page") + "?b=1&utm_source=x&a=2").text


@pytest.mark.parametrize("kind", ["dynamic", "setcookie", "private"])
def test_a_page_that_must_not_be_kept_is_not(new: New, kind: str) -> None:
    responses = [ask(new(f"/{kind}")) for _ in range(3)]
    assert len({response.text for response in responses}) == 3
    assert not any(response.hit for response in responses)


def test_a_signed_in_client_is_answered_by_the_application(new: New) -> None:
    ask(new("/page"))
    response = ask(new("/page"), user="ann")
    assert "for ann" in response.text
    assert response.cache == "varnish; fwd=bypass; detail=cookie"


def test_a_session_among_analytics_cookies_counts(new: New) -> None:
    ask(new("/page"))
    assert "for bob" in ask(new("/page"), Cookie="_ga=1; user=bob; _gid=2").text


def test_a_visitor_gets_no_page_of_a_signed_in_client(new: New) -> None:
    ask(new("/page"), user="ann")
    assert "for visitor" in ask(new("/page")).text


def test_a_password_bypasses(new: New) -> None:
    ask(new("/page"))
    assert "fwd=bypass" in ask(new("/page"), Authorization="Basic x").cache


def test_vary_on_the_cookie_is_obeyed(new: New) -> None:
    ask(new("/vary"))
    assert "for ann" in ask(new("/vary"), user="ann").text
    assert "for visitor" in ask(new("/vary")).text


def test_two_users_and_two_visitors_never_mix(new: New) -> None:
    def walk(user: str) -> int:
        paths = [new("/page") + "?age=1", new("/dynamic"), new("/setcookie"), new("/private")]
        return sum(f"for {user or 'visitor'}" not in ask(path, user=user).text for path in paths * 60)

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert list(pool.map(walk, ["ann", "bob", "", ""])) == [0, 0, 0, 0]


# --- Static files -------------------------------------------------------------------------------------------


def test_a_static_file_without_a_lifetime_is_kept(new: New) -> None:
    ask(new("/static") + ".css")
    assert ask(new("/static") + ".css").hit


def test_a_static_copy_also_serves_signed_in_clients(new: New) -> None:
    ask(new("/static") + ".css")
    assert ask(new("/static") + ".css", user="ann").hit


def test_a_signed_in_clients_static_file_is_not_kept(new: New) -> None:
    mine, visitors = ask(new("/static") + ".png", user="ann"), ask(new("/static") + ".png")
    assert not mine.hit
    assert mine.text != visitors.text


@pytest.mark.parametrize("control", ["public,max-age=60", "max-age=60,immutable"])
def test_a_public_static_file_is_kept_although_every_client_has_a_cookie(new: New, control: str) -> None:
    path = f"{new('/static')}.js?control={control}"
    ask(path, user="ann")
    assert [ask(path, user=f"user{number}").hit for number in range(12)] == [True] * 12


def test_a_private_picture_is_shown_to_its_owner_alone(new: New) -> None:
    path = new("/secret") + ".png"
    ask(path)
    assert "for ann" in ask(path, user="ann").text
    assert ask(path).status == 403
    assert "for bob" in ask(path, user="bob").text


def test_a_wikis_page_that_is_named_like_a_picture_stays_personal(new: New) -> None:
    path = new("/wiki") + ".png"
    ask(path)
    ask(path)
    assert "for ann" in ask(path, user="ann").text


def test_text_is_compressed_once(new: New) -> None:
    ask(new("/static") + ".css")
    assert ask(new("/static") + ".css", Accept_Encoding="gzip").headers["Content-Encoding"] == "gzip"


# --- What the application may believe -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "X-Forwarded-Prefix",
        "X-Original-URL",
        "X-Forwarded-Server",
        "X-Rewrite-URL",
        "X-Host",
        "X-Forwarded-Scheme",
    ],
)
def test_a_forged_header_poisons_no_page(new: New, name: str) -> None:
    ask(new("/page"), headers={name: "//evil.example"})
    assert "evil" not in ask(new("/page")).text


FORGED = (
    "Client-IP",
    "Forwarded",
    "Proxy",
    "Remote-User",
    "True-Client-IP",
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "X-Forwarded-Port",
    "X-Forwarded-Proto",
    "X-Forwarded-User",
    "X-Host",
    "X-Real-IP",
    "X-Script-Name",
)


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_what_is_forged_does_not_arrive(method: str) -> None:
    heard = ask("/echo", method, headers=dict.fromkeys(FORGED, "evil")).text
    assert "evil" not in heard


def test_a_get_in_disguise_arrives_as_a_get() -> None:
    assert "DELETE" not in ask("/echo", X_HTTP_Method_Override="DELETE", X_Method_Override="DELETE").text


def test_varnishs_notes_do_not_reach_the_application() -> None:
    heard = json.loads(ask("/echo.css", X_Old="failed", X_Static="yes").text)
    assert not {"x-old", "x-static", "cache-status", "x-purge-token"} & set(heard)


@BOTH
def test_scheme_host_and_port_are_those_that_were_typed(base: str) -> None:
    heard = json.loads(ask("/echo", base=base).text)
    url = urlsplit(base)
    assert heard["x-forwarded-proto"] == url.scheme
    assert heard["host"] == heard["x-forwarded-host"] == url.netloc
    assert heard["x-forwarded-port"] == str(url.port)


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_the_clients_address_is_one_address(method: str) -> None:
    heard = json.loads(ask("/echo", method).text)
    assert heard["x-forwarded-for"] == heard["x-real-ip"]


# --- Expired copies and failures ----------------------------------------------------------------------------


def test_a_copy_that_has_just_expired_is_sent_while_it_is_renewed(new: New) -> None:
    path = new("/page") + "?age=1"
    first = ask(path)
    time.sleep(2.5)
    second = ask(path)
    assert second.text == first.text
    assert "detail=stale" in second.cache
    time.sleep(0.5)
    assert ask(path).text != first.text


def test_a_copy_that_expired_long_ago_is_renewed_first(new: New) -> None:
    path = new("/page") + "?age=1"
    first = ask(path)
    time.sleep(12.5)
    assert ask(path).text != first.text


@pytest.fixture(scope="module")
def expired(running: App) -> str:
    """A page whose copy has expired more than ten seconds ago."""
    path = f"/page-expired{time.time_ns()}?age=1"
    ask(path)
    time.sleep(12.5)
    return path


def test_the_old_copy_is_better_than_an_error(expired: str, app: App) -> None:
    app.read("/set?fail=1")
    before = app.asked(urlsplit(expired).path)
    response = ask(expired)
    assert (response.status, "detail=stale" in response.cache) == (200, True)
    assert app.asked(urlsplit(expired).path) == before + 1


def test_thirty_at_once_get_the_old_copy_of_a_page_that_fails_slowly(expired: str, app: App) -> None:
    app.read("/set?fail=1&slow=0.5")
    seconds, responses = at_once(30, lambda: ask(expired))
    assert {response.status for response in responses} == {200}
    assert seconds < 5


def test_the_old_copy_is_sent_while_the_application_is_down(expired: str, app: App) -> None:
    app.stop()
    response = ask(expired)
    assert (response.status, "detail=stale" in response.cache) == (200, True)


def test_thirty_at_once_do_not_wait_in_line_for_an_error(new: New, app: App) -> None:
    app.read("/set?fail=1&slow=0.5")
    seconds, responses = at_once(30, lambda: ask(new("/page")))
    assert all(response.status == 500 and "application says" in response.text for response in responses)
    assert seconds < 4


def test_thirty_at_once_do_not_wait_in_line_for_a_page_that_is_not_kept(new: New, app: App) -> None:
    app.read("/set?slow=0.5")
    seconds, responses = at_once(30, lambda: ask(new("/dynamic")))
    assert len({response.text for response in responses}) == 30
    assert seconds < 4


def test_thirty_at_once_cause_one_fetch_of_a_page_that_is_kept(new: New, app: App) -> None:
    app.read("/set?slow=0.5")
    at_once(30, lambda: ask(new("/page")))
    assert app.asked(new("/page")) == 1


def test_the_applications_own_error_page_arrives() -> None:
    response = ask("/down")
    assert (response.status, response.headers["Retry-After"]) == (503, "77")
    assert "own 503" in response.text


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("user", ["", "ann"], ids=["visitor", "signed-in"])
def test_without_a_copy_the_503_page_is_sent_while_the_application_is_down(
    new: New, app: App, method: str, user: str
) -> None:
    app.stop()
    response = ask(new("/page"), method, user=user)
    assert (response.status, response.headers["Retry-After"]) == (503, "5")
    assert "One moment, please" in response.text
    assert response.headers["Cache-Control"] == "no-store"


def test_the_application_is_asked_again_as_soon_as_it_is_back(new: New, app: App) -> None:
    app.stop()
    ask(new("/dynamic"))
    app.start()
    time.sleep(1.1)  # for so long a failure is shared
    assert ask(new("/dynamic")).status == 200


# --- Ranges and conditional requests ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def large(running: App) -> bytes:
    return ask("/large").body


def test_a_large_file_arrives_whole(large: bytes) -> None:
    assert len(large) == 20 * MEGABYTE


@pytest.mark.parametrize("user", ["", "ann"], ids=["visitor", "signed-in"])
def test_a_range_of_what_is_not_kept_is_the_applications(large: bytes, user: str) -> None:
    response = ask("/large", user=user, Range="bytes=5000000-5000099")
    assert (response.status, response.body) == (206, large[5000000:5000100])


@pytest.mark.parametrize("user", ["", "ann"], ids=["visitor", "signed-in"])
def test_a_304_of_what_is_not_kept_is_the_applications(large: bytes, user: str) -> None:
    assert ask("/large", user=user, If_None_Match='"large"').status == 304


def test_a_large_file_passes_although_it_has_a_lifetime(new: New) -> None:
    path = new("/large") + "?age=60"
    ask(path)
    assert not ask(path).hit


def test_a_range_is_cut_out_of_a_copy(new: New) -> None:
    ask(new("/page"))
    response = ask(new("/page"), Range="bytes=0-3")
    assert (response.status, response.text, response.hit) == (206, "page", True)


def test_several_ranges_mean_the_whole_page(new: New) -> None:
    ask(new("/page"))
    assert ask(new("/page"), Range="bytes=0-1,3-4").status == 200


def test_a_304_comes_from_a_copy(new: New) -> None:
    ask(new("/static") + ".png")
    assert ask(new("/static") + ".png", If_None_Match='"1"').status == 304


# --- Streams, WebSockets, uploads, methods ------------------------------------------------------------------


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


# --- Purging ------------------------------------------------------------------------------------------------


def purge(path: str, method: str = "PURGE", headers: Mapping[str, str] | None = None) -> int:
    return ask(path, method, headers=headers, X_Purge_Token=TOKEN).status


needs_token = pytest.mark.skipif(not TOKEN, reason="STARTER_TOKEN is not set")


@BOTH
@pytest.mark.parametrize("method", ["PURGE", "BAN"])
@pytest.mark.parametrize("token", [None, "", "wrong"], ids=["no token", "an empty one", "a wrong one"])
def test_purging_is_refused_without_the_token(new: New, base: str, method: str, token: str | None) -> None:
    first = ask(new("/page"), base=base)
    shown = {} if token is None else {"X-Purge-Token": token}
    response = ask(new("/page"), method, base=base, headers=shown)
    assert response.status == 405
    assert ask(new("/page"), base=base).text == first.text


@needs_token
def test_a_page_is_purged_with_every_query(new: New) -> None:
    first, second = ask(new("/page")), ask(new("/page") + "?x=1")
    assert purge(new("/page")) == 200
    assert ask(new("/page")).text != first.text
    assert ask(new("/page") + "?x=1").text != second.text


@needs_token
def test_a_page_is_purged_with_one_query(new: New) -> None:
    first, second = ask(new("/page")), ask(new("/page") + "?x=1")
    assert purge(new("/page") + "?x=1") == 200
    assert ask(new("/page")).text == first.text
    assert ask(new("/page") + "?x=1").text != second.text


@needs_token
def test_pages_are_purged_by_a_pattern(new: New) -> None:
    first = ask(new("/page"))
    assert purge(f"{new('/page')[:-3]}.*", headers={"X-Purge-Method": "regex"}) == 200
    assert ask(new("/page")).text != first.text


@needs_token
@pytest.mark.parametrize("name", ["X-Cache-Tags", "Surrogate-Key", "xkey", "Cache-Tags"])
def test_pages_are_purged_by_a_tag(new: New, name: str) -> None:
    first = ask(new("/page"))
    assert purge("/", "BAN", {name: "other"}) == 200
    assert ask(new("/page")).text == first.text
    assert purge("/", "BAN", {name: "news"}) == 200
    assert ask(new("/page")).text != first.text


@needs_token
def test_a_purge_with_the_whole_address_works(new: New) -> None:
    first = ask(new("/page"))
    assert purge(f"http://site.example{new('/page')}") == 200
    assert ask(new("/page")).text != first.text


@needs_token
def test_a_malformed_pattern_is_refused() -> None:
    assert purge("/(", headers={"X-Purge-Method": "regex"}) == 400


@needs_token
def test_nothing_but_a_purge_is_let_to_the_listener_for_purging(new: New) -> None:
    first = ask(new("/page"))
    assert ask(new("/page"), X_Purge_Token=TOKEN).text == first.text
