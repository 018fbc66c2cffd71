"""The server: listening sockets, and one short exchange per connection, bounded in bytes, time and number."""

import asyncio
import errno
import socket
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from policyd.log import REQUEST_CAP, Log, Outcome
from policyd.policy import REQUEST, Policy

BACKLOG = 1024
"""Connections that the kernel queues while the server is busy; the kernel caps it at somaxconn."""

ACCEPT_PAUSE = 0.2
"""Seconds to wait when accept fails, e.g. without a free descriptor; connections stay in the backlog."""

STOP_PATIENCE = 1.0
"""Seconds that open connections get to finish when the server stops; one round trip is enough."""

ANY = ("0.0.0.0", "::")
Address = tuple[Any, ...]  # (host, port) for IPv4, two more numbers for IPv6
NO_SUCH_FAMILY = (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL, errno.EPROTONOSUPPORT)


@dataclass(frozen=True)
class Limits:
    """Limits of one connection, of one address and of all together. Times in seconds."""

    deadline: float = 5.0  # from accept to the last byte of the answer, however much a client sends
    # For how long, and how many bytes, to read on after the answer, so that the close is not a reset.
    linger: float = 1.0
    linger_bytes: int = 65_536
    max_connections: int = 512
    # Behind nginx every client has nginx's address, so nginx must limit each client. Below the total, so
    # that there is room for the health check, which comes from another address.
    max_per_address: int = 400


def judge(received: bytes) -> Outcome | None:
    """Return the outcome of the bytes received so far; None while they are the beginning of a request.

    The first wrong byte decides, so an HTTP or TLS client is disconnected at once instead of holding a
    connection until the deadline. Bytes after a complete request are ignored.
    """
    if received.startswith(REQUEST):
        return Outcome.SERVED
    if REQUEST.startswith(received):
        return None
    return Outcome.TOO_LONG if len(received) > REQUEST_CAP else Outcome.BAD_REQUEST


class PolicyServer:
    """Answers on every listener with `policy.answer`; assign a new `policy` at any time."""

    def __init__(self, policy: Policy, limits: Limits, log: Log) -> None:
        self.policy = policy
        self._limits = limits
        self._log = log
        self._listeners: list[socket.socket] = []
        self._accepting: list[asyncio.Task[None]] = []
        self._open: set[asyncio.Task[None]] = set()
        self._per_address: Counter[str] = Counter()

    def start(self, listeners: Sequence[socket.socket]) -> None:
        """Serve on listening, non-blocking sockets; from now on they belong to the server."""
        self._listeners = list(listeners)
        self._accepting = [asyncio.create_task(self._accept(listener)) for listener in listeners]

    async def stop(self) -> None:
        """Stop accepting, let open connections finish for a moment, then end the rest."""
        for accepting in self._accepting:
            accepting.cancel()
        await asyncio.gather(*self._accepting, return_exceptions=True)
        for listener in self._listeners:
            listener.close()
        if self._open:
            await asyncio.wait(self._open, timeout=STOP_PATIENCE)
        for connection in self._open:
            connection.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                sock, peer = await loop.sock_accept(listener)
            except OSError as problem:
                self._log.accept_failed(str(problem))
                await asyncio.sleep(ACCEPT_PAUSE)
                continue
            host, port = peer[:2] if peer else ("unix", 0)
            self._admit(sock, host, port)
            # While connections are waiting, sock_accept returns without yielding to other tasks.
            await asyncio.sleep(0)

    def _admit(self, sock: socket.socket, address: str, port: int) -> None:
        if len(self._open) >= self._limits.max_connections:
            refusal = Outcome.REFUSED_TOTAL
        elif self._per_address[address] >= self._limits.max_per_address:
            refusal = Outcome.REFUSED_PER_ADDRESS
        else:
            self._per_address[address] += 1
            serving = asyncio.create_task(self._serve(sock, address, port))
            self._open.add(serving)
            serving.add_done_callback(self._open.discard)
            return
        sock.close()
        self._log.connection(refusal, address, port)

    async def _serve(self, sock: socket.socket, address: str, port: int) -> None:
        loop = asyncio.get_running_loop()
        begin = loop.time()
        received = bytearray()
        detail = None
        try:
            with sock:
                try:
                    async with asyncio.timeout_at(begin + self._limits.deadline):
                        outcome = await self._exchange(sock, received)
                except TimeoutError:
                    outcome = Outcome.TIMEOUT
                except ConnectionError:
                    outcome = Outcome.RESET
                except asyncio.CancelledError:
                    outcome = Outcome.STOPPED
                except Exception as problem:  # an error ends only its own connection
                    outcome, detail = Outcome.ERROR, repr(problem)
                seconds = loop.time() - begin
                self._log.connection(outcome, address, port, seconds, bytes(received), detail)
                if outcome is Outcome.SERVED:
                    await self._linger(sock)
        finally:
            self._per_address[address] -= 1
            if not self._per_address[address]:
                del self._per_address[address]

    async def _exchange(self, sock: socket.socket, received: bytearray) -> Outcome:
        """Read the request, however it is cut into packets, and answer it."""
        loop = asyncio.get_running_loop()
        outcome = None
        while outcome is None:
            packet = await loop.sock_recv(sock, REQUEST_CAP + 1 - len(received))
            if not packet:
                return Outcome.CLOSED_EARLY
            received += packet
            outcome = judge(bytes(received))
        if outcome is Outcome.SERVED:
            await loop.sock_sendall(sock, self.policy.answer)
        return outcome

    async def _linger(self, sock: socket.socket) -> None:
        """Half-close, and read on until the client closes too.

        Closing a socket with unread input sends a reset, which can overtake and destroy the answer.
        """
        loop = asyncio.get_running_loop()
        left = self._limits.linger_bytes
        with suppress(OSError):  # TimeoutError is one
            sock.shutdown(socket.SHUT_WR)
            async with asyncio.timeout(self._limits.linger):
                while left > 0 and (packet := await loop.sock_recv(sock, 4096)):
                    left -= len(packet)


def open_listeners(hosts: Sequence[str], port: int) -> list[socket.socket]:
    """Listen on every address of every host, or on all IPv4 and IPv6 addresses if none is given.

    Port 0 lets the kernel choose one, the same for all. Raises `OSError` with a text that names the
    address; a missing address family is ignored unless a host was given.
    """
    listeners: list[socket.socket] = []
    absent: list[OSError] = []
    try:
        for family, address in _addresses(hosts or ANY, port):
            if listeners and port == 0:
                address = (address[0], listeners[0].getsockname()[1], *address[2:])
            try:
                listeners.append(_listen(family, address))
            except OSError as problem:
                reason = _explained(problem, address)
                if hosts or problem.errno not in NO_SUCH_FAMILY:
                    raise reason from None
                absent.append(reason)
    except OSError:
        for listener in listeners:
            listener.close()
        raise
    if not listeners:
        raise absent[0]
    return listeners


def open_unix(path: Path) -> socket.socket:
    """Listen on a Unix socket that every user may connect to; one that a killed daemon has left is replaced.

    Raises `OSError` with a text that names the path.
    """
    listener = socket.socket(socket.AF_UNIX)
    try:
        if path.is_socket():
            path.unlink()
        listener.bind(str(path))
        path.chmod(0o666)
        listener.listen(BACKLOG)
        listener.setblocking(False)
    except OSError as problem:
        listener.close()
        raise OSError(problem.errno, f"cannot listen on {path}: {problem.strerror or problem}") from None
    return listener


def shown(listener: socket.socket) -> str:
    """The address of a listener as text: `0.0.0.0:3000`, `[::]:3000`, `unix:/run/policyd/policyd.sock`."""
    if listener.family == socket.AF_UNIX:
        return f"unix:{listener.getsockname()}"
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _addresses(hosts: Sequence[str], port: int) -> list[tuple[socket.AddressFamily, Address]]:
    found: dict[tuple[socket.AddressFamily, Address], None] = {}  # a set that keeps the order
    for host in hosts:
        try:
            results = socket.getaddrinfo(host, port, socket.AF_UNSPEC, socket.SOCK_STREAM)
        except socket.gaierror as problem:
            raise OSError(problem.errno, f"cannot listen on {host}: {problem.strerror}") from None
        found |= {(family, address): None for family, _, _, _, address in results}
    return list(found)


def _listen(family: socket.AddressFamily, address: Address) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        # A restarted daemon must not wait until the kernel has forgotten its old connections.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            # Each family has a socket of its own, so addresses in the log need no ::ffff: in front.
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener


def _explained(problem: OSError, address: Address) -> OSError:
    host, port = address[:2]
    advice = ""
    if problem.errno == errno.EACCES:
        advice = " (a port below 1024 needs root or CAP_NET_BIND_SERVICE)"
    elif problem.errno == errno.EADDRINUSE:
        advice = " (another policyd running?)"
    return OSError(problem.errno, f"cannot listen on {host} port {port}: {problem.strerror}{advice}")
