"""`policyd check` against good servers, and against every way to serve a policy wrongly."""

import socket
import struct
import subprocess
import time

import pytest

from policyd.check import CheckError, check
from policyd.policy import REQUEST
from running_daemon import SHIPPED, Daemon
from support.origin import Origin
from support.ports import free_ports

GOOD = b"""<cross-domain-policy>
<allow-access-from domain="a" to-ports="7230"/>
</cross-domain-policy>"""


class FakeDaemon(Origin):
    """Reads a request, sends `packets` and closes, resets or stays."""

    def __init__(self, *packets: bytes, end: str = "close") -> None:
        self.packets = packets
        self.end = end
        self.received = b""
        super().__init__("policy daemon")

    def serve(self, connection: socket.socket, number: int) -> None:
        self.received = connection.recv(100)
        for packet in self.packets:
            connection.sendall(packet)
            time.sleep(0.02)
        if self.end == "stay":
            connection.recv(1)
        if self.end == "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def test_the_daemon_passes_its_own_check(daemon: Daemon) -> None:
    assert check("127.0.0.1", daemon.port, 5) == SHIPPED.read_text()


@pytest.mark.parametrize("packets", [[GOOD + b"\0"], [GOOD[:30], GOOD[30:], b"\0"]])
def test_the_policy_is_read_however_it_is_cut_into_packets(packets: list[bytes]) -> None:
    server = FakeDaemon(*packets)
    assert check("127.0.0.1", server.port, 5) == GOOD.decode()
    assert server.received == REQUEST


def test_a_server_may_leave_the_close_to_the_client() -> None:
    begin = time.monotonic()
    assert check("127.0.0.1", FakeDaemon(GOOD + b"\0", end="stay").port, 30) == GOOD.decode()
    assert time.monotonic() - begin < 10


@pytest.mark.parametrize(
    ("packets", "end", "reason"),
    [
        ([], "close", "closed, 0 bytes and no NUL"),
        ([GOOD], "close", "no NUL"),
        ([GOOD + b"\n"], "close", "no NUL"),
        ([GOOD], "stay", "gave up after 0.5 s"),
        ([], "stay", "gave up after 0.5 s, 0 bytes"),
        ([GOOD + b"\0\0"], "close", "1 bytes after the NUL"),
        ([GOOD + b"\0", b"later"], "close", "5 bytes after the NUL"),
        ([GOOD + b"\0", b"x"], "stay", "1 bytes after the NUL"),
        ([GOOD[:-1] + b"\0"], "close", ":3: not well-formed"),
        ([b"<html/>\0"], "close", ":1: the root element is <html>"),
        ([b"\0"], "close", ":1: not well-formed"),
        ([b"x" * 30_000], "close", "no NUL"),
        ([GOOD + b"\0"], "reset", "reset"),
    ],
)
def test_a_bad_answer_is_named(packets: list[bytes], end: str, reason: str) -> None:
    port = FakeDaemon(*packets, end=end).port
    with pytest.raises(CheckError) as caught:
        check("127.0.0.1", port, 0.5)
    assert reason in str(caught.value)
    assert f"127.0.0.1:{port}" in str(caught.value)


def test_an_unreachable_server_is_named() -> None:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        with pytest.raises(CheckError, match="refused"):
            check("127.0.0.1", sock.getsockname()[1], 1)
    with pytest.raises(CheckError, match=r"no-such-host\.invalid"):
        check("no-such-host.invalid", 3000, 1)


@pytest.mark.parametrize(
    ("packets", "end", "healthy"),
    [
        ([GOOD[:30], GOOD[30:] + b"\0"], "stay", True),
        ([GOOD], "close", False),
        ([], "close", False),
        ([], "reset", False),
        ([b"<html>\0"], "close", False),
    ],
)
def test_the_containers_check_accepts_only_a_policy(packets: list[bytes], end: str, healthy: bool) -> None:
    server = FakeDaemon(*packets, end=end)
    check = ["bash", str(SHIPPED.with_name("health.sh")), str(server.port)]
    done = subprocess.run(check, capture_output=True, check=False, timeout=10)
    assert (done.returncode == 0) is healthy
    assert server.received == REQUEST


def test_the_containers_check_needs_a_listener() -> None:
    check = ["bash", str(SHIPPED.with_name("health.sh")), str(free_ports(1)[0])]
    assert subprocess.run(check, capture_output=True, check=False, timeout=10).returncode


def test_the_daemon_passes_the_containers_check(daemon: Daemon) -> None:
    check = ["bash", str(SHIPPED.with_name("health.sh")), str(daemon.port)]
    assert subprocess.run(check, capture_output=True, check=False, timeout=10).returncode == 0
