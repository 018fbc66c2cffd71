"""The clients of the README's table, most of them hostile.

Each client connects to `(host, port)`; `deadline` is the server's, in seconds. It returns what it got:

    the policy    all of it and one NUL, then an orderly close, no reset
    a close       or a reset, before any byte arrived; or the client itself closed the connection

or a sentence that says what went wrong.
"""

import select
import socket
import struct
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress

REQUEST = b"<policy-file-request/>\0"
POLICY, CLOSE = "the policy", "a close"
SLACK = 3.0  # seconds that a busy machine may add
SILENT = 300
TOO_MANY = 600  # more than policyd's caps
Play = Callable[[str, int, float], str]


def connect(host: str, port: int, source: str | None = None) -> socket.socket:
    """Return a connection that sends each packet immediately, from the loopback address `source` if given."""
    sock = socket.create_connection((host, port), SLACK, (source, 0) if source else None)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def fate(sock: socket.socket, patience: float = SLACK) -> str:
    """Read until the close; return what the client got."""
    until = time.monotonic() + patience
    got = b""
    try:
        sock.settimeout(patience)
        while packet := sock.recv(65536):
            got += packet
            sock.settimeout(max(0.001, until - time.monotonic()))
    except TimeoutError:
        return f"still open after {patience:.1f} s, {len(got)} bytes received"
    except ConnectionError as problem:
        return f"{len(got)} bytes received, then {problem!r}" if got else CLOSE
    text, nul, rest = got.partition(b"\0")
    if nul and not rest and text.rstrip().endswith(b"</cross-domain-policy>"):
        return POLICY
    return f"not a policy and one NUL: {got[:80]!r} ... {got[-20:]!r}" if got else CLOSE


def alike(fates: set[str]) -> str:
    """Return the common result of a crowd of clients."""
    return fates.pop() if len(fates) == 1 else f"{len(fates)} fates: {fates}"


def sends(*packets: bytes, pause: float = 0.0, deadlines: float = 0.0, half_close: bool = False) -> Play:
    """Return a client that sends packets until it is cut off; after each, it waits that long."""

    def play(host: str, port: int, deadline: float) -> str:
        with connect(host, port) as sock:
            with suppress(OSError):
                for packet in packets:
                    sock.sendall(packet)
                    time.sleep(pause + deadlines * deadline)
                if half_close:
                    sock.shutdown(socket.SHUT_WR)
            return fate(sock, deadline + SLACK)

    return play


honest = sends(REQUEST)
SINGLE = [REQUEST[place : place + 1] for place in range(len(REQUEST))]


def connect_and_close(host: str, port: int, deadline: float) -> str:
    connect(host, port).close()
    return CLOSE


def reset(host: str, port: int, deadline: float) -> str:
    """Reset the connections of thirty clients: before, in and after the request."""
    for data in [b"", REQUEST[:5], REQUEST] * 10:
        with connect(host, port) as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            sock.sendall(data)
    return CLOSE


def silent_crowd(host: str, port: int, deadline: float) -> str:
    """Hold silent connections; requests in between must find a place, and not wait for their end."""
    with ExitStack() as stack:
        silent = [stack.enter_context(connect(host, port)) for _ in range(SILENT)]
        for _ in range(10):
            begin = time.monotonic()
            if (got := honest(host, port, deadline)) != POLICY:
                return f"an honest client among the silent ones: {got}"
            if time.monotonic() - begin > max(deadline / 2, 0.5):
                return "an honest client had to wait for the silent ones"
        return alike({fate(sock, deadline + SLACK) for sock in silent})


def too_many(*sources: str) -> Play:
    """Return a client with too many silent connections from these addresses: the surplus must be closed."""

    def play(host: str, port: int, deadline: float) -> str:
        with ExitStack() as stack:
            poll, socks = select.poll(), {}
            for number in range(TOO_MANY):
                sock = stack.enter_context(connect(host, port, sources[number % len(sources)]))
                socks[sock.fileno()] = sock
                poll.register(sock, select.POLLIN)
            return alike({fate(socks[descriptor]) for descriptor, _ in poll.poll(deadline / 2 * 1000)})

    return play


CLIENTS: dict[str, dict[str, Play]] = {
    "asks, in one packet or in 23": {
        "one packet": honest,
        "byte by byte": sends(*SINGLE, pause=0.002),
        "in pieces of other sizes": sends(REQUEST[:1], REQUEST[1:22], REQUEST[22:], pause=0.002),
    },
    "asks, and sends more bytes or requests": {
        "trailing bytes": sends(REQUEST + b"x" * 1000),
        "more bytes after the answer": sends(REQUEST, b"more", b"more" * 500, pause=0.05),
    },
    "asks, then half-closes or reads late": {
        "half-close after the request": sends(REQUEST, half_close=True),
        "reads after the deadline": sends(REQUEST, deadlines=1.1),
    },
    "sends a wrong byte: HTTP, TLS, CRLF for the NUL": {
        "CRLF instead of NUL": sends(REQUEST[:-1] + b"\r\n"),
        "HTTP GET": sends(b"GET /crossdomain.xml HTTP/1.1\r\n"),
        "TLS hello": sends(bytes.fromhex("16030100c8010000c40303")),
        "a wrong byte in the second piece": sends(REQUEST[:10], b"x" + REQUEST[11:], pause=0.002),
    },
    "sends more than 64 bytes, a wrong one among them": {
        "65 bytes": sends(REQUEST[:-1] + b" " * 43),
        "100 kB of junk": sends(b"\xa5" * 100_000),
    },
    "is silent, leaves out the NUL or is too slow": {
        "no NUL": sends(REQUEST[:-1]),
        "dribble, which must not extend the deadline": sends(*SINGLE[:-1], deadlines=0.25),
        "300 silent ones held open": silent_crowd,
    },
    "closes or half-closes before it has asked": {
        "connect and close": connect_and_close,
        "half-close without a request": sends(REQUEST[:10], half_close=True),
    },
    "resets the connection": {"reset": reset},
    "is one too many for the daemon": {"600 from two addresses": too_many("127.0.0.1", "127.0.0.2")},
    "is one too many from its address": {"600 from one address": too_many("127.0.0.1")},
    "is silent while the daemon stops": {"silence at a stop": sends()},
}
