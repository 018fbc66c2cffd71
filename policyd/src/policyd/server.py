"""The server: one short conversation per connection, each bounded in bytes, time and number."""

import asyncio
import socket
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from policyd.journal import Journal
from policyd.policy import Policy
from policyd.wire import REQUEST_CAP, Outcome, judge

ACCEPT_PAUSE = 0.2
"""Seconds to wait when accept fails, e.g. for want of descriptors; the backlog waits with us."""

STOP_PATIENCE = 1.0
"""Seconds that open connections get to finish when the server stops; one round trip is enough."""


@dataclass(frozen=True)
class Limits:
    """What one client, one address and all of them together may cost. Times in seconds."""

    deadline: float = 5.0  # from accept to the last byte of the answer, however busy a client is
    linger: float = 1.0  # after the answer: how long, and
    linger_bytes: int = 65_536  # how much we go on reading, so that closing does not reset
    max_connections: int = 512
    # Behind nginx every client has nginx's address, so by default this is no limit per client:
    # nginx sets that. Below the total, it keeps room for the health check, from another address.
    max_per_address: int = 400


class PolicyServer:
    """Answers on every listener with `policy.answer`; assign a new `policy` at any time."""

    def __init__(self, policy: Policy, limits: Limits, journal: Journal) -> None:
        self.policy = policy
        self._limits = limits
        self._journal = journal
        self._listeners: list[socket.socket] = []
        self._accepting: list[asyncio.Task[None]] = []
        self._open: set[asyncio.Task[None]] = set()
        self._per_address: Counter[str] = Counter()

    def start(self, listeners: Sequence[socket.socket]) -> None:
        """Serve on listening, non-blocking sockets; from now on they belong to the server."""
        self._listeners = list(listeners)
        self._accepting = [asyncio.create_task(self._accept(listener)) for listener in listeners]

    async def stop(self) -> None:
        """Take no new connections, let the open ones finish for a moment, end the rest."""
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
                self._journal.accept_failed(str(problem))
                await asyncio.sleep(ACCEPT_PAUSE)
                continue
            self._admit(sock, peer[0], peer[1])
            # While connections are waiting, sock_accept returns without giving anybody else a turn.
            await asyncio.sleep(0)

    def _admit(self, sock: socket.socket, address: str, port: int) -> None:
        if len(self._open) >= self._limits.max_connections:
            refusal = Outcome.REFUSED_TOTAL
        elif self._per_address[address] >= self._limits.max_per_address:
            refusal = Outcome.REFUSED_PER_ADDRESS
        else:
            self._per_address[address] += 1
            attending = asyncio.create_task(self._attend(sock, address, port))
            self._open.add(attending)
            attending.add_done_callback(self._open.discard)
            return
        sock.close()
        self._journal.connection(refusal, address, port)

    async def _attend(self, sock: socket.socket, address: str, port: int) -> None:
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
                except Exception as problem:  # one connection's trouble stays its own
                    outcome, detail = Outcome.ERROR, repr(problem)
                seconds = loop.time() - begin
                self._journal.connection(outcome, address, port, seconds, bytes(received), detail)
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
        """Say that we are done and read on until the client is, too.

        Closing a socket with unread input sends a reset, which can overtake and destroy the answer.
        """
        loop = asyncio.get_running_loop()
        left = self._limits.linger_bytes
        with suppress(OSError):  # TimeoutError is one: the client had its chance
            sock.shutdown(socket.SHUT_WR)
            async with asyncio.timeout(self._limits.linger):
                while left > 0 and (packet := await loop.sock_recv(sock, 4096)):
                    left -= len(packet)
