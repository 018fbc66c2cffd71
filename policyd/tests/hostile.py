"""Hostile clients of a policy server, and a well-behaved one. Standard library only: import it by path.

Each function runs one client against `(host, port)`; `deadline` is the server's, in seconds. It returns one
word for the result:

    answer    the whole policy and one NUL came, then an orderly close, no reset
    nothing   the connection was closed (or reset) without a byte, in time
    left      the client closed the connection itself and expected nothing

or a sentence that says what went wrong.
"""

import socket
import struct
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import NamedTuple

REQUEST = b"<policy-file-request/>\0"
SLACK = 3.0  # seconds a busy machine may be late
CROWD = 300
SILENT = 60


class Hostile(NamedTuple):
    name: str
    play: Callable[[str, int, float], str]
    expected: str


def honest(host: str, port: int, patience: float = SLACK) -> str:
    """Request the policy as Flash does; `answer`, or what went wrong."""
    with _connect(host, port) as sock:
        sock.sendall(REQUEST)
        return _fate(sock, patience)


def _connect(host: str, port: int) -> socket.socket:
    return socket.create_connection((host, port), SLACK)


def _fate(sock: socket.socket, patience: float) -> str:
    """Read until the close; return what the client got."""
    until = time.monotonic() + patience
    got = b""
    try:
        while True:
            sock.settimeout(max(0.001, until - time.monotonic()))
            packet = sock.recv(65536)
            if not packet:
                break
            got += packet
    except TimeoutError:
        return f"still open after {patience:.1f} s, {len(got)} bytes received"
    except ConnectionError as problem:
        return f"{len(got)} bytes received, then {problem!r}" if got else "nothing"
    if not got:
        return "nothing"
    text, nul, rest = got.partition(b"\0")
    if nul and not rest and text.rstrip().endswith(b"</cross-domain-policy>"):
        return "answer"
    return f"not a policy and one NUL: {got[:80]!r} ... {got[-20:]!r}"


def _send(sock: socket.socket, *packets: bytes, pause: float = 0.0) -> None:
    """Send each packet separately; the server may close before the last one."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        for packet in packets:
            sock.sendall(packet)
            time.sleep(pause)
    except ConnectionError:
        pass


def _sends(*packets: bytes, pause: float = 0.0) -> Callable[[str, int, float], str]:
    def play(host: str, port: int, deadline: float) -> str:
        with _connect(host, port) as sock:
            _send(sock, *packets, pause=pause)
            return _fate(sock, deadline + SLACK)

    return play


def _single(data: bytes) -> Sequence[bytes]:
    return [data[i : i + 1] for i in range(len(data))]


def dribble(host: str, port: int, deadline: float) -> str:
    """One right byte after the other, but too slowly: bytes must not extend the deadline."""
    begin = time.monotonic()
    with _connect(host, port) as sock:
        _send(sock, *_single(REQUEST[:12]), pause=deadline / 8)  # takes 1.5 deadlines
        fate = _fate(sock, deadline)
    late = time.monotonic() - begin > 2 * deadline + SLACK
    return "closed too late" if late else fate


def connect_and_close(host: str, port: int, deadline: float) -> str:
    _connect(host, port).close()
    return "left"


def half_close_after_request(host: str, port: int, deadline: float) -> str:
    with _connect(host, port) as sock:
        sock.sendall(REQUEST)
        sock.shutdown(socket.SHUT_WR)
        return _fate(sock, SLACK)


def half_close_without_request(host: str, port: int, deadline: float) -> str:
    with _connect(host, port) as sock:
        sock.sendall(REQUEST[:10])
        sock.shutdown(socket.SHUT_WR)
        return _fate(sock, deadline + SLACK)


def reset(host: str, port: int, deadline: float) -> str:
    """Thirty clients that reset the connection, before and after the request."""
    for number in range(30):
        with _connect(host, port) as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            if number % 2:
                sock.sendall(REQUEST)
    return "left"


def reads_nothing(host: str, port: int, deadline: float) -> str:
    """Requests through a tiny receive buffer and reads the answer after the deadline."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        sock.settimeout(SLACK)
        sock.connect((host, port))
        sock.sendall(REQUEST)
        time.sleep(deadline + 0.2)
        return _fate(sock, SLACK)


def crowd(host: str, port: int, deadline: float) -> str:
    """Three hundred well-behaved clients, all connected before the first one asks."""
    with ExitStack() as stack:
        socks = [stack.enter_context(_connect(host, port)) for _ in range(CROWD)]
        for sock in socks:
            sock.sendall(REQUEST)
        fates = [_fate(sock, SLACK) for sock in socks]
    others = [fate for fate in fates if fate != "answer"]
    return f"{len(others)} of {CROWD} were not served: {others[0]}" if others else "answer"


def silent_crowd(host: str, port: int, deadline: float) -> str:
    """Sixty silent connections; requests in between must not wait for their end."""
    with ExitStack() as stack:
        silent = [stack.enter_context(_connect(host, port)) for _ in range(SILENT)]
        for _ in range(10):
            begin = time.monotonic()
            fate = honest(host, port)
            if fate != "answer":
                return f"an honest client among the silent ones: {fate}"
            if time.monotonic() - begin > max(deadline / 2, 0.5):
                return "an honest client had to wait for the silent ones"
        fates = {_fate(sock, deadline + SLACK) for sock in silent}
    return fates.pop() if len(fates) == 1 else f"the silent ones: {fates}"


TLS_HELLO = bytes.fromhex("16030100c8010000c40303") + bytes(range(200))
HTTP_GET = b"GET /crossdomain.xml HTTP/1.1\r\nHost: localhost\r\nUser-Agent: curl/8\r\n\r\n"

CLIENTS = [
    Hostile("split in two packets", _sends(REQUEST[:9], REQUEST[9:], pause=0.05), "answer"),
    Hostile("byte by byte", _sends(*_single(REQUEST), pause=0.002), "answer"),
    Hostile("only the NUL is late", _sends(REQUEST[:-1], REQUEST[-1:], pause=0.1), "answer"),
    Hostile("no NUL", _sends(REQUEST[:-1]), "nothing"),
    Hostile("CRLF instead of NUL", _sends(REQUEST[:-1] + b"\r\n"), "nothing"),
    Hostile("a NUL first", _sends(b"\0" + REQUEST), "nothing"),
    Hostile("HTTP GET", _sends(HTTP_GET), "nothing"),
    Hostile("TLS hello", _sends(TLS_HELLO), "nothing"),
    Hostile("100 kB of junk", _sends(b"\xa5" * 100_000), "nothing"),
    Hostile("silence", _sends(), "nothing"),
    Hostile("dribble beyond the deadline", dribble, "nothing"),
    Hostile("connect and close", connect_and_close, "left"),
    Hostile("half-close after the request", half_close_after_request, "answer"),
    Hostile("half-close without a request", half_close_without_request, "nothing"),
    Hostile("trailing bytes", _sends(REQUEST + b"x" * 1000), "answer"),
    Hostile("pipelined requests", _sends(REQUEST * 50), "answer"),
    Hostile("more bytes after the answer", _sends(REQUEST, b"more", b"more", pause=0.05), "answer"),
    Hostile("reset", reset, "left"),
    Hostile("reads nothing", reads_nothing, "answer"),
    Hostile("300 at once", crowd, "answer"),
    Hostile("60 silent ones held open", silent_crowd, "nothing"),
]
