"""With OBSERVE_LOG: one classified line for each request, a second one for some, and nginx's connections."""

import json
import re
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from extras.observe.exporter.inbox import LONGEST
from extras.observe.exporter.requests import Requests, lines
from logs.serverlogs import Line
from nginx.tests.nginx_server import UPGRADED, NginxServer
from tests.support.origin import Request, response
from tests.support.wait import wait_until


class Observed(NginxServer):
    """nginx, and the socket that receives its lines."""

    def __init__(self, **settings: str) -> None:
        super().__init__(**settings)
        path = self.folder / "observe.sock"
        self.settings["OBSERVE_LOG"] = f"unix:{path}"
        self.inbox = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.inbox.bind(str(path))
        path.chmod(0o666)
        self._received: list[bytes] = []
        self.registry = CollectorRegistry()
        self._counts = Requests(self.registry)
        self.traced: list[Line] = []
        self.reading = threading.Event()
        self.reading.set()
        threading.Thread(target=self._receive, daemon=True).start()  # the kernel lets only ten of them wait

    def _receive(self) -> None:
        while True:
            self.reading.wait()
            for line in lines(self.inbox.recv(LONGEST)):
                _, is_trace, text = line.partition(b" trace: ")
                if is_trace:
                    self.traced.append(Line(**json.loads(text.decode(errors="replace"))))
                    continue
                self._counts.count(line)
                self._received.append(line)

    def lines(self) -> list[str]:
        """Return the lines that have arrived since the last call, without the syslog header."""
        found = []
        while self._received:
            header, _, line = self._received.pop(0).decode().partition(": ")
            assert re.fullmatch(r"<190>\w{3} [ \d]\d [\d:]{8} nginx", header)
            found.append(line)
        return found

    def classified(self, path: str, host: str = "localhost", method: str = "GET", **headers: str) -> str:
        """Send a request; return its line: site, kind, status and answer. Require that there is no other."""
        self.request(path, host, method, None, b"", "", **headers)
        [line] = wait_until(self.lines)
        labels, seconds, size, request_id = line.rsplit(" ", 3)
        assert re.fullmatch(r"\d+\.\d{3}", seconds)
        assert int(size) > 0
        assert re.fullmatch("[0-9a-f]{32}", request_id)
        return labels


@pytest.fixture(scope="module")
def nginx() -> Iterator[Observed]:
    with Observed(CLIENT_REQUESTS="50", LOGIN_REQUESTS="1") as server:
        server.use_one_worker()
        server.start()
        yield server
        rejected = server.registry.get_sample_value("nginx_log_lines_rejected_total")
        assert rejected == 0, "the exporter reads every line of these tests"


@pytest.fixture(autouse=True)
def as_new(nginx: Observed) -> None:
    nginx.lines()


HIT = 'varnish;desc="hit"'
# Varnish's outcome (varnish/cache_status.vcl), and the answer in nginx's line.
VARNISH = {
    "hit": "varnish:hit",
    "stale": "varnish:stale",
    "miss": "backend:miss",
    "hit-for-miss": "backend:hit-for-miss",
    "pass": "backend:pass",
    "error": "varnish:error",
    "synth": "varnish:synth",
    "": "varnish:refused",  # varnishd has refused the request before any VCL ran
}


@pytest.mark.parametrize("host", ["localhost", "classic.localhost"])
@pytest.mark.parametrize(("said", "answered"), VARNISH.items())
def test_what_varnish_says_is_counted(nginx: Observed, said: str, answered: str, host: str) -> None:
    timing = {"server_timing": f'varnish;desc="{said}"'} if said else {}
    nginx.respond_all(lambda _: response("x", **timing))
    site = "upstage.localhost" if host == "localhost" else host
    path = f"/media/{said}.svg"
    assert nginx.classified(path, host) == f"{site} media 200 anonymous {answered}"
    (logged,) = wait_until(lambda: nginx.log_lines(f"{path} .* {host} |^{host} .*{path} "))
    assert f" answered={answered} " in logged


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/media/video/live.jpg", "webcam"),
        ("/media/thumb/fox.svg?v=1", "media"),
        ("/style/main.css", "asset"),
        ("/stages/demo", "stage"),
        ("/speech/abc.mp3", "speech"),
        ("/admin/login", "admin"),
        ("/signup", "admin"),
        ("/signups", "other"),
        ("/wsx", "other"),
        ("/?a=/media/", "other"),
    ],
)
def test_the_kind_is_the_class_of_the_path(nginx: Observed, path: str, kind: str) -> None:
    assert nginx.classified(path, "nginx.localhost") == f"nginx.localhost {kind} 200 anonymous backend:none"


def test_a_websocket(nginx: Observed) -> None:
    nginx.backend.respond = lambda _: UPGRADED
    with nginx.connect() as client:
        client.sendall(
            b"GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
        )
        assert client.recv(4096).startswith(b"HTTP/1.1 101")
    [line] = wait_until(nginx.lines)
    assert line.startswith("upstage.localhost websocket 101 anonymous backend:none ")


GIVEN = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.mark.parametrize(
    ("path", "said", "traced"),
    [
        ("/stages/a", {}, ""),
        ("/stages/b", {"status": "500 Internal Server Error"}, "failed"),
        ("/stages/c", {"delay": "0.2"}, "slow"),
        ("/media/video/a.jpg", {"delay": "0.2"}, ""),
        ("/stages/d", {"delay": "0.2", "content_type": "text/event-stream; charset=utf-8"}, ""),
        ("/stages/e", {"traceparent": GIVEN}, "drawn"),
        ("/stages/\xff?\xe9", {"traceparent": GIVEN}, "drawn"),
        ("/media/video/b.jpg", {"traceparent": GIVEN, "delay": "0.2"}, "drawn"),
    ],
)
def test_a_second_line_tells_of_what_failed_was_slow_or_drawn(
    nginx: Observed, path: str, said: dict[str, str], traced: str
) -> None:
    nginx.traced.clear()
    options = dict(said)
    delay, given = float(options.pop("delay", "0")), options.pop("traceparent", "")
    for origin in (nginx.varnish, nginx.backend):
        origin.delay = delay
        origin.respond = lambda _: response("x", **options)
    nginx.request(path, "localhost", "GET", nginx.load, b"", "", traceparent=given)
    wait_until(nginx.lines)  # the first line comes before the second one
    nginx.request("/stages/last", "localhost", "GET", nginx.load, b"", "", traceparent=GIVEN)
    wait_until(lambda: any(line.url == "/stages/last" for line in nginx.traced))
    found = [line for line in nginx.traced if line.url != "/stages/last"]
    if not given:
        found = [line for line in found if line.traced != "drawn"]  # nginx draws one in a hundred
    if traced or delay:
        assert [line.traced for line in found] == [traced] * bool(traced)
    else:  # on a busy machine the request may have been slow
        assert all((line.seconds or 0) >= 0.1 for line in found)
    for line in found:
        assert (line.method, line.host) == ("GET", "localhost")
        assert (line.seconds or 0) >= delay
        assert (line.id in GIVEN, line.parent in GIVEN[1:]) == (bool(given), True)
        assert re.fullmatch("[0-9a-f]{16}", line.span)


def test_nginxs_own_copies_and_upstage_without_varnish(nginx: Observed) -> None:
    nginx.varnish.respond = lambda _: response("x", server_timing=HIT, x_accel_expires="60")
    assert nginx.classified("/stages/kept") == "upstage.localhost stage 200 anonymous varnish:hit"
    assert nginx.classified("/stages/kept") == "upstage.localhost stage 200 anonymous nginx:hit"
    nginx.varnish.close()
    try:
        assert nginx.classified("/stages/new") == "upstage.localhost stage 200 anonymous backend:none"
        nginx.backend.close()
        # nginx's own page, but the kind is still that of the request.
        assert nginx.classified("/media/lost.svg") == "upstage.localhost media 503 anonymous nginx:error"
    finally:
        nginx.backend.listen()
        nginx.varnish.listen()


def test_files_that_nginx_reads_from_the_disk(nginx: Observed) -> None:
    (nginx.media / "large.svg").write_text("<svg/>")

    def elsewhere(_: Request) -> bytes:
        return response(
            x_accel_redirect="/.nginx/media/large.svg", server_timing=HIT, content_type="image/svg+xml"
        )

    nginx.varnish.respond = elsewhere
    assert nginx.classified("/media/large.svg") == "upstage.localhost media 200 anonymous nginx:disk"
    assert (
        nginx.classified("/media/large.svg", "static.localhost")
        == "static.localhost media 200 anonymous nginx:disk"
    )
    assert (
        nginx.classified("/media/none.svg", "static.localhost")
        == "static.localhost media 200 anonymous backend:none"
    )


def test_nginxs_own_responses(nginx: Observed) -> None:
    assert nginx.classified("/media/a", "evil.example") == "_ media 421 anonymous nginx:synth"
    logins = [nginx.classified("/admin/login", method="POST") for _ in range(3)]
    assert logins[2] == "upstage.localhost admin 429 anonymous nginx:synth"
    with nginx.connect() as client:
        client.sendall(b"nonsense\r\n\r\n")
        client.recv(4096)
    [line] = wait_until(nginx.lines)
    assert re.match(r"\S+ other 400 anonymous nginx:synth ", line)


def test_a_session_of_the_other_ports(nginx: Observed) -> None:
    with nginx.connect(nginx.policy) as client:
        client.sendall(b"<policy-file-request/>\0")
        client.recv(100)
    assert wait_until(nginx.lines) == [f"{nginx.policy} 200"]


def test_questions_about_the_stack_are_no_requests(nginx: Observed) -> None:
    nginx.request("/.nginx/health", port=nginx.load)
    nginx.request("/.nginx/backend", port=nginx.load)
    nginx.request("/user/", port=nginx.observe)
    page = nginx.request("/", port=nginx.status).text
    assert re.fullmatch(
        r"Active connections: \d+ \nserver accepts handled requests\n( \d+){3} \n"
        r"Reading: \d+ Writing: \d+ Waiting: \d+ \n",
        page,
    )
    assert nginx.classified("/stages/after").startswith("upstage.localhost stage ")


def test_an_exporter_that_is_away_costs_no_line_of_the_log() -> None:
    with Observed() as server:
        server.start()
        path = Path(server.settings["OBSERVE_LOG"].removeprefix("unix:"))
        away = path.rename(path.with_suffix(".away"))
        for _ in range(20):
            server.request("/media/fox.svg")
        away.rename(path)
        server.request("/stages/back")  # the last of the others may be logged only now
        wait_until(lambda: any(line.startswith("upstage.localhost stage 200") for line in server.lines()))
        assert server.log_lines(r"\[(alert|crit|error)\]") == []


def test_a_reader_that_does_not_keep_up_gets_every_line() -> None:
    """nginx puts the lines that wait into one datagram."""
    with Observed() as server:
        server.start()
        server.reading.clear()
        for number in range(100):
            given = f"00-{number + 1:032x}-b7ad6b7169203331-01"
            server.request(f"/media/{number}.svg", "localhost", "GET", server.load, traceparent=given)
        server.reading.set()
        wait_until(lambda: len(server._received) == 100 == len(server.traced))
        assert {line.url for line in server.traced} == {f"/media/{number}.svg" for number in range(100)}
        assert all(" media 200 " in line for line in server.lines())


def test_without_the_setting_there_is_nothing(fresh: NginxServer) -> None:
    """Files that an earlier start has left are removed, too."""
    assert fresh.render(OBSERVE_LOG="unix:/run/x.sock").returncode == 0
    assert (fresh.generated / "observe" / "http.conf").exists()
    assert fresh.render().returncode == 0
    assert not (fresh.generated / "observe").exists()
    fresh.start()
    script = 'nginx -T -q -e stderr -p "$PREFIX" -c "$GENERATED_FOLDER/nginx.conf" 2>&1'
    configuration = fresh.run("sh", "-c", script).stdout
    assert "syslog" not in configuration
    assert "stub_status" not in configuration
    for port in (fresh.observe, fresh.status):
        with pytest.raises(ConnectionRefusedError):
            fresh.connect(port)
