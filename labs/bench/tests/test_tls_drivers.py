"""The drivers of labs/tls: what they read, which runs they reject, and their programs on loopback."""

import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.drivers import cold_visit, curl, h2load, handshakes
from bench.lab_stack import Problem
from bench.tests.programs import Generator, printed, report
from bench.tests.test_distance_drivers import undisturbed
from support.origin import Origin
from support.ports import free_ports

# --- h2load

# From h2load 1.64.0, shortened.
H2LOAD = """\
Application protocol: h2
finished in 2.00s, 800.00 req/s, 57.30MB/s
requests: 1600 total, 1610 started, 1600 done, 1600 succeeded, 0 failed, 0 errored, 0 timeout
status codes: 1602 2xx, 0 3xx, 0 4xx, 0 5xx
traffic: 114.60MB (120170000) total, 66.97KB (68578) headers (space savings 62.71%), 114.44MB (120000000) data
Generator: 0.300 0.500
"""


def test_the_report_of_h2load() -> None:
    assert h2load.metrics(H2LOAD, 75_000) == pytest.approx(
        {
            "requests": 1600,
            "seconds": 2,
            "requests_per_second": 800,
            "bytes_per_second": 60_000_000,
            "http_version": 2,
            "generator_cpu_percent": 40,
        }
    )
    assert h2load.metrics(H2LOAD.replace("protocol: h2", "protocol: http/1.1"))["http_version"] == 1.1


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("1600 done", "0 done", "no response"),
        ("0 failed", "3 failed", "^3 of 1600 requests: failed$"),
        ("0 errored", "4 errored", "^4 of 1600 requests: errored$"),
        ("0 timeout", "5 timeout", "^5 of 1600 requests: timeout$"),
        ("0 3xx", "6 3xx", "^6 of 1600 requests were not answered by a 2xx$"),
        ("0 5xx", "7 5xx", "^7 of 1600 requests were not answered by a 2xx$"),
        ("(120000000)", "(110000000)", "^the responses had 68750 bytes instead of 75000$"),
        (H2LOAD, "could not resolve nginx:8443", "could not resolve"),
    ],
)
def test_a_run_of_h2load_with_failures_is_rejected(old: str, new: str, reason: str) -> None:
    assert old in H2LOAD
    with pytest.raises(Problem, match=reason):
        h2load.metrics(H2LOAD.replace(old, new), 75_000)


LOAD: dict[str, Any] = {
    "host": "a.example",
    "path": "/",
    "tls": "nginx:8443",
    "clients": 10,
    "seconds": 4,
}


def test_a_run_of_h2load_that_never_ends_is_repeated() -> None:
    timeout = Problem("timeout")
    generator = Generator(timeout, timeout, H2LOAD)
    assert h2load.measure(generator.stack, LOAD)["requests"] == 1600
    assert "--alpn-list=h2,http/1.1" in generator.commands[0]
    with pytest.raises(Problem, match="timeout"):
        h2load.measure(Generator(timeout, timeout, timeout, H2LOAD).stack, LOAD)


def test_a_run_of_h2load_whose_connections_were_closed_is_rejected() -> None:
    closed = Generator(H2LOAD.replace("1610 started", "1600 started"))
    with pytest.raises(Problem, match=r"^0 of 10 requests in progress: the server has closed connections$"):
        h2load.measure(closed.stack, LOAD)


# --- curl

CURL: dict[str, Any] = {
    "url": "https://nginx:8443",
    "path": "/a.swf",
    "http": "--http3-only",
    "version": "3",
    "clients": 25,
    "requests": 4,
    "bytes": 75_000,
}


def test_the_report_of_curl() -> None:
    bad = "3 200 75000\n0 000 0\nTook: 0.5 0.1 0.1\n"  # is repeated
    generator = Generator(bad, bad, "3 200 75000\n" * 4 + "Took: 0.500 0.150 0.050\n")
    assert curl.measure(generator.stack, CURL) == pytest.approx(
        {
            "requests": 4,
            "seconds": 0.5,
            "requests_per_second": 8,
            "bytes_per_second": 600_000,
            "generator_cpu_percent": 40,
        }
    )
    assert generator.commands[0][-1] == "https://nginx:8443/a.swf?[1-4]"


@pytest.mark.parametrize("bad", ["2 200 75000\n", "3 503 75000\n", "3 200 74999\n", "0 000 0\n", ""])
def test_a_run_of_curl_is_rejected_if_one_response_is_not_whole_or_of_another_version(bad: str) -> None:
    with pytest.raises(Problem, match="1 of 4 responses were not '3 200 75000'"):
        curl.metrics("3 200 75000\n" * 3 + bad + "Took: 0.500 0.150 0.050\n", CURL)
    with pytest.raises(Problem, match="curl ended with 'killed'"):
        curl.metrics("3 200 75000\n" * 4 + "killed", CURL)


# --- A first visit

VISIT: dict[str, Any] = {**CURL, "address": "nginx", "port": 8443, "host": "a.example", "round_trip": 50}


def test_a_visit_is_the_median_in_milliseconds_and_in_round_trips() -> None:
    generator = Generator(*(f"3 200 75000 {seconds}\n" for seconds in ("0.9", "0.1", "0.2")))
    found = cold_visit.measure(generator.stack, {**VISIT, "visits": 3})
    assert found == pytest.approx({"milliseconds": 200, "round_trips": 4})
    assert generator.settings(0)["round_trip"] == 50
    assert "a.example:8443:127.0.0.1" in generator.settings(0)["command"]


def test_a_visit_over_another_version_is_rejected() -> None:
    with pytest.raises(Problem, match=r"was not '3 200 75000 ', but '2 200 75000 0\.1'"):
        cold_visit.metrics(["3 200 75000 0.1\n", "2 200 75000 0.1\n"], VISIT)


# Sends one piece over the given kind of socket, and prints what comes back and after how many milliseconds.
ECHO = """
import socket, sys, time
kind, port = getattr(socket, sys.argv[1]), int(sys.argv[2])
begin = time.monotonic()
with socket.socket(socket.AF_INET, kind) as client:
    client.settimeout(10)
    client.connect(("127.0.0.1", port))
    client.send(b"hello")
    print(client.recv(100).decode(), (time.monotonic() - begin) * 1000)
"""


@pytest.mark.parametrize(("kind", "round_trips"), [("SOCK_STREAM", 2), ("SOCK_DGRAM", 1)])
def test_a_distance_takes_a_round_trip_and_over_tcp_one_more_for_the_handshake(
    kind: str, round_trips: int
) -> None:
    limit = 100 * round_trips + 90
    milliseconds = undisturbed(lambda: echoed_after(kind), limit)
    assert 100 * round_trips <= milliseconds < limit


def echoed_after(kind: str) -> float:
    """Milliseconds until a client 100 ms away has its bytes back."""
    [port] = free_ports(1)
    with socket.socket(socket.AF_INET, getattr(socket, kind)) as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("127.0.0.2", port))

        def echo() -> None:
            if kind == "SOCK_STREAM":
                server.listen()
                connection, _ = server.accept()
                with connection:
                    connection.send(connection.recv(100))
            else:
                data, client = server.recvfrom(100)
                server.sendto(data, client)

        threading.Thread(target=echo, daemon=True).start()
        settings = {"address": "127.0.0.2", "port": port, "round_trip": 100}
        command = [sys.executable, "-c", ECHO, kind, str(port)]
        text, milliseconds = printed("distance", {**settings, "command": command}).split()
    assert text == "hello"
    return float(milliseconds)


# --- Handshakes


class TlsOrigin(Origin):
    """An HTTP server behind TLS, with a certificate made in a folder."""

    def __init__(self, folder: Path) -> None:
        pair = ("-keyout", folder / "key", "-out", folder / "certificate")
        command = (
            "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=a.example"
        )
        subprocess.run([*command.split(), *pair], check=True, capture_output=True)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(folder / "certificate", folder / "key")
        super().__init__("tls")

    def serve(self, connection: socket.socket, number: int) -> None:
        with self.context.wrap_socket(connection, server_side=True) as encrypted:
            super().serve(encrypted, number)


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    origin = TlsOrigin(tmp_path)
    yield origin.port
    origin.close()


@pytest.mark.parametrize("version", ["TLSv1.3", "TLSv1.2"])
@pytest.mark.parametrize("resumed", [False, True])
def test_handshakes_are_of_the_version_and_resumed_as_asked(port: int, version: str, resumed: bool) -> None:
    settings = {"address": "127.0.0.1", "port": port, "version": version, "ciphers": ""}
    begin = time.monotonic()
    found = report("handshakes", {**settings, "resumed": resumed, "processes": 2, "seconds": 0.3})
    assert found["handshakes"] > 2
    assert found["resumed"] == (found["handshakes"] if resumed else 0)
    assert found["negotiated"].startswith("TLS_AES_" if version == "TLSv1.3" else "ECDHE-ECDSA-")
    assert 0.3 <= found["seconds"] <= time.monotonic() - begin
    assert found["cpu_seconds"] > 0


REPORT = {
    "handshakes": 500,
    "resumed": 500,
    "seconds": 2.0,
    "negotiated": "TLS_AES_256_GCM_SHA384",
    "cpu_seconds": 3.0,
}
SHAKE: dict[str, Any] = {"resumed": True, "negotiates": "TLS_AES_", "openssl": "/openssl.cnf"}


def test_the_figures_of_handshakes() -> None:
    generator = Generator(REPORT)
    assert handshakes.measure(generator.stack, SHAKE) == {
        "requests": 500,
        "seconds": 2,
        "handshakes_per_second": 250,
        "generator_cores": 1.5,
    }
    assert generator.commands[0][:2] == ("env", "OPENSSL_CONF=/openssl.cnf")


@pytest.mark.parametrize(
    ("changes", "settings", "reason"),
    [
        ({"resumed": 499}, SHAKE, "^499 of 500 handshakes were resumed$"),
        ({}, {**SHAKE, "resumed": False}, "^500 of 500 handshakes were resumed$"),
        ({"negotiated": "AES128-SHA"}, SHAKE, "^negotiated AES128-SHA instead of TLS_AES_$"),
    ],
)
def test_handshakes_of_another_kind_are_rejected(
    changes: dict[str, Any], settings: dict[str, Any], reason: str
) -> None:
    with pytest.raises(Problem, match=reason):
        handshakes.measure(Generator({**REPORT, **changes}).stack, settings)
