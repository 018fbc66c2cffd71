"""`policyd check` against good servers and against all the ways to serve a policy wrongly."""

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from policyd.check import CheckError, check
from running_daemon import SHIPPED, Daemon

GOOD = b"""<cross-domain-policy>
<allow-access-from domain="a" to-ports="7230"/>
</cross-domain-policy>"""
Serve = Callable[..., int]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Start a server that reads what comes, answers with given packets and ends in a given way."""
    threads: list[threading.Thread] = []
    done = threading.Event()
    heard: list[bytes] = []

    def starts(*packets: bytes, end: str = "close", heard: list[bytes] = heard) -> int:
        listener = socket.create_server(("127.0.0.1", 0))

        def run() -> None:
            with listener, listener.accept()[0] as sock:
                heard.append(sock.recv(100))
                for packet in packets:
                    sock.sendall(packet)
                    time.sleep(0.02)
                if end == "stay":
                    done.wait(10)
                if end == "reset":
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

        threads.append(threading.Thread(target=run))
        threads[-1].start()
        port: int = listener.getsockname()[1]
        return port

    yield starts
    done.set()
    for thread in threads:
        thread.join(5)


def test_the_daemon_passes_its_own_check(daemon: Daemon) -> None:
    assert check("127.0.0.1", daemon.port, 5) == SHIPPED.read_text()


def test_sends_exactly_the_request(serve: Serve) -> None:
    heard: list[bytes] = []
    assert check("127.0.0.1", serve(GOOD + b"\0", heard=heard), 5) == GOOD.decode()
    assert heard == [b"<policy-file-request/>\0"]


def test_answer_in_pieces(serve: Serve) -> None:
    assert check("127.0.0.1", serve(GOOD[:30], GOOD[30:], b"\0"), 5) == GOOD.decode()


def test_server_that_leaves_closing_to_the_client(serve: Serve) -> None:
    begin = time.monotonic()
    assert check("127.0.0.1", serve(GOOD + b"\0", end="stay"), 30) == GOOD.decode()
    assert time.monotonic() - begin < 10


@pytest.mark.parametrize(
    ("packets", "end", "reason"),
    [
        ([], "close", "closed, 0 bytes and no NUL"),
        ([GOOD], "close", "no NUL"),
        ([GOOD + b"\n"], "close", "no NUL"),
        ([GOOD], "stay", "gave up after 0.5 s"),
        ([], "stay", "gave up after 0.5 s, 0 bytes"),
        ([GOOD + b"\0\0"], "close", "1 bytes behind the NUL"),
        ([GOOD + b"\0", b"later"], "close", "5 bytes behind the NUL"),
        ([GOOD + b"\0", b"x"], "stay", "1 bytes behind the NUL"),
        ([GOOD[:-1] + b"\0"], "close", ":3: not well-formed"),
        ([b"<html/>\0"], "close", ":1: the root element is <html>"),
        ([b"\0"], "close", ":1: not well-formed"),
        ([b"x" * 30_000], "close", "no NUL"),
        ([GOOD + b"\0"], "reset", "reset"),
    ],
)
def test_bad_answers(serve: Serve, packets: list[bytes], end: str, reason: str) -> None:
    port = serve(*packets, end=end)
    with pytest.raises(CheckError) as caught:
        check("127.0.0.1", port, 0.5)
    assert reason in str(caught.value)
    assert f"127.0.0.1:{port}" in str(caught.value)


def test_nobody_listens() -> None:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        with pytest.raises(CheckError, match="refused"):
            check("127.0.0.1", sock.getsockname()[1], 1)


def test_unknown_host() -> None:
    with pytest.raises(CheckError, match=r"no-such-host\.invalid"):
        check("no-such-host.invalid", 3000, 1)
