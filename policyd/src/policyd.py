"""policyd: a Flash socket policy daemon, and an example of a small server that survives hostile clients.

In reading order: the log, the server, the policy file, the check, the command line. A table in
policyd/README.md gives the answer to each kind of client; policyd/tests/test_table.py tests it.
"""

import argparse
import asyncio
import fcntl
import json
import os
import re
import resource
import select
import signal
import socket
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn
from xml.parsers import expat

REQUEST = b"<policy-file-request/>\0"  # Flash Player 9.0.124 and later send it before they open any socket
REQUEST_CAP = 64  # bytes of a wrong request that are logged; a longer one is `too-long`
MAX_BYTES = 20_000  # bytes of a policy
LINGER, LINGER_BYTES = 1.0, 65_536  # seconds and bytes for which to keep reading after the answer
STOP_PATIENCE = 1.0  # seconds that open connections get when the daemon stops
OWN_DESCRIPTORS = 16  # open files that are not connections
BACKLOG = 1024  # connections that the kernel queues, at most somaxconn


class Problem(Exception):
    """A mistake that the operator must correct; the message says where and why."""


@dataclass
class Log:
    """JSON lines on standard output. An attack must not fill the disk, or stop the daemon, through them."""

    lines_per_second: int
    counts: Counter[str] = field(default_factory=Counter)
    unwritten: Counter[str] = field(default_factory=Counter)
    written: int = 0

    def event(self, name: str, **fields: Any) -> None:
        """Write a line, or lose it if the pipe or the disk is full."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = json.dumps({"time": now, "event": name, **fields}).encode() + b"\n"
        with suppress(OSError):
            if select.select([], [1], [], 0)[1]:  # a pipe then has room for a line: PIPE_BUF bytes (4096)
                os.write(1, line)

    def bounded(self, name: str, outcome: str, **fields: Any) -> None:
        """Count an event that a client has caused, and write it if this second has a line left."""
        self.counts[outcome] += 1
        if self.written < self.lines_per_second:
            self.written += 1
            self.event(name, outcome=outcome, **fields)
        else:
            self.unwritten[outcome] += 1

    def tick(self) -> None:
        """Begin a new second; in one line, sum up the events of the last second that got no line."""
        if self.unwritten:
            self.event("summary", unwritten=self.unwritten.total(), outcomes=self.unwritten)
        self.unwritten, self.written = Counter(), 0


@dataclass
class Server:
    """Sends `answer`, which may be replaced at any time, within `deadline` seconds after the accept.

    It reads with sock_recv, which takes only the bytes that it requests. A StreamReader takes up to 256 KiB
    before it shows the first: 250 MiB of memory, not 28, when a thousand clients send at once.
    """

    answer: bytes
    log: Log
    deadline: float
    max_connections: int
    max_per_address: int
    open: dict[asyncio.Task[None], str] = field(default_factory=dict)  # connections and their addresses

    async def accept(self, listener: socket.socket) -> None:
        """Serve the clients of a non-blocking listener until cancelled, then close it."""
        with listener:
            while True:
                try:
                    sock, peer = await asyncio.get_running_loop().sock_accept(listener)
                except OSError as problem:  # no file descriptor is free: clients wait in the backlog
                    self.log.bounded("accept-failed", "accept-failed", detail=str(problem))
                    await asyncio.sleep(0.2)
                    continue
                address, port = peer[:2] if peer else ("unix", 0)
                connection = asyncio.create_task(self.serve(sock, address, port))
                self.open[connection] = address
                connection.add_done_callback(self.open.pop)
                await asyncio.sleep(0)  # while clients are waiting, sock_accept does not yield to other tasks

    async def serve(self, sock: socket.socket, address: str, port: int) -> None:
        """Serve one connection to its end, and log the outcome."""
        begin, received, more = time.monotonic(), bytearray(), {}
        with sock:
            try:
                async with asyncio.timeout(self.deadline):
                    outcome = await self.exchange(sock, address, received)
            except TimeoutError:
                outcome = "timeout"
            except ConnectionError:
                outcome = "reset"
            except asyncio.CancelledError:
                outcome = "stopped"
            except Exception as problem:  # ends only this connection
                outcome, more["detail"] = "error", repr(problem)
            if outcome in ("bad-request", "too-long"):
                more["request"] = received[:REQUEST_CAP].decode("latin-1")
            where = {"address": address, "port": port, "seconds": round(time.monotonic() - begin, 4)}
            self.log.bounded("connection", outcome, **where, received=len(received), **more)
            if outcome == "served":
                await self.linger(sock)

    async def exchange(self, sock: socket.socket, address: str, received: bytearray) -> str:
        """Read the request, however it is split into packets, and answer it; return the outcome."""
        if len(self.open) > self.max_connections:
            return "refused-total"
        if list(self.open.values()).count(address) > self.max_per_address:
            return "refused-per-address"
        loop = asyncio.get_running_loop()
        while not received.startswith(REQUEST):
            if not REQUEST.startswith(bytes(received)):  # immediately: HTTP and TLS clients need not wait
                return "too-long" if len(received) > REQUEST_CAP else "bad-request"
            packet = await loop.sock_recv(sock, REQUEST_CAP + 1 - len(received))
            if not packet:
                return "closed-early"
            received += packet
        await loop.sock_sendall(sock, self.answer)
        return "served"

    async def linger(self, sock: socket.socket) -> None:
        """Half-close and read on: a close with unread bytes sends a reset, which may destroy the answer."""
        left = LINGER_BYTES
        with suppress(OSError):  # a TimeoutError is an OSError
            sock.shutdown(socket.SHUT_WR)
            async with asyncio.timeout(LINGER):
                while left > 0 and (packet := await asyncio.get_running_loop().sock_recv(sock, 4096)):
                    left -= len(packet)


def lock(unix: Path) -> None:
    """Keep other daemons from this path until this process ends, even if killed. Raise `Problem`, OSError."""
    file = os.open(f"{unix}.lock", os.O_RDWR | os.O_CREAT, 0o600)  # never closed, so that the lock lasts
    for _ in range(20):  # 2 s, for another daemon that is ending
        with suppress(BlockingIOError):
            return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        time.sleep(0.1)
    raise Problem(f"another policyd is running: it holds {unix}.lock; this one has changed nothing, and ends")


def listen(hosts: list[str], port: int, unix: Path | None) -> list[socket.socket]:
    """Listen on each address of `hosts` (if it is empty, on each of the machine) and on the path `unix`.

    With port 0, the kernel chooses one, the same for all addresses. Raise `Problem`.
    """
    everywhere = ["0.0.0.0", "::"] if socket.has_dualstack_ipv6() else ["0.0.0.0"]
    listeners: list[socket.socket] = []
    try:
        for place in hosts or everywhere:
            family = socket.AF_INET6 if ":" in place else socket.AF_INET
            listeners.append(socket.create_server((place, port), family=family, backlog=BACKLOG))
            port = listeners[0].getsockname()[1]
        if unix:
            place = str(unix)
            lock(unix)
            if unix.is_socket():  # a killed daemon has left it behind
                unix.unlink()
            listeners.append(socket.socket(socket.AF_UNIX))
            listeners[-1].bind(place)
            unix.chmod(0o666)  # the proxy runs as another user
            listeners[-1].listen(BACKLOG)
    except OSError as problem:
        raise Problem(f"cannot listen on {place}: {problem.strerror}") from None
    for listener in listeners:
        listener.setblocking(False)
    return listeners


# The policy file. Flash reports no error about a policy that it cannot use: it opens no socket. So such a
# policy is an error here. The rules for socket policies are in Adobe's cross-domain policy specification.
GRANT = "cross-domain-policy/allow-access-from"
ELEMENTS: dict[str, dict[str, tuple[str, str]]] = {  # with their attributes: a pattern, and its description
    "cross-domain-policy": {},
    "cross-domain-policy/site-control": {
        "permitted-cross-domain-policies": ("none|master-only|all", "none, master-only or all"),
    },
    GRANT: {
        "domain": (r"\*|(\*\.)?[\w-]+(\.[\w-]+)*", "a host name, *.name or *; no scheme, port or spaces"),
        "to-ports": (r"\*|\d{1,5}(-\d{1,5})?(,\d{1,5}(-\d{1,5})?)*", "as in 7230 or 123,456-458 or *"),
        "secure": ("(true|false)?", "true or false"),
    },
}


def load(path: Path, port: int, log: Log) -> bytes:
    """Read and check a policy to be served on `port`, and log warnings; return the policy with a NUL.

    Raise `Problem`: `file:line: reason`.
    """
    try:
        # O_NONBLOCK: the daemon must not wait for the writer of a pipe.
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            policy = file.read(MAX_BYTES + 1) or b""
    except OSError as problem:
        raise Problem(f"{path}: cannot be read: {problem.strerror}") from None
    for warning in check_policy(policy, str(path), port):
        log.event("warning", warning=warning)
    return policy + b"\0"


def check_policy(policy: bytes, source: str, port: int) -> list[str]:
    """Check a policy, without its NUL; return warnings. Raise `Problem`: `source:line: reason`."""
    parser = expat.ParserCreate("utf-8")  # the parser fetches nothing
    path: list[str] = []
    warnings: list[str] = []

    def fail(reason: str) -> NoReturn:
        raise Problem(f"{source}:{parser.CurrentLineNumber}: {reason[:300]}")

    def start(name: str, attributes: dict[str, str]) -> None:
        path.append(name)
        element = "/".join(path)
        if element not in ELEMENTS:
            fail(f"<{name}> is not an element of a socket policy, or not here")
        for attribute, (pattern, words) in ELEMENTS[element].items():
            value = attributes.get(attribute, "")
            if not re.fullmatch(pattern, value, re.ASCII):
                fail(f'{attribute}="{value[:100]}": {words}')
        if element == GRANT:
            ports = attributes["to-ports"].replace("*", "1-65535")
            ranges = [[int(edge) for edge in item.split("-")] for item in ports.split(",")]
            if not all(1 <= edges[0] <= edges[-1] <= 65535 for edges in ranges):
                fail(f'to-ports="{ports}": from 1 to 65535, ranges upwards')
            if min(ranges)[0] < 1024 and not 0 < port < 1024:
                reason = (
                    "Flash ignores that in a policy read from a port of 1024 or above; serve it on port 843"
                )
                warnings.append(f"{source}:{parser.CurrentLineNumber}: ports below 1024 granted: {reason}")

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda name: path.pop()
    parser.EntityDeclHandler = lambda *declared: fail("no entities: they can grow into gigabytes")
    if len(policy) > MAX_BYTES:
        fail(f"larger than {MAX_BYTES} bytes")
    if b"\0" in policy[:4] or policy.startswith(b"\xef\xbb\xbf"):
        fail("save it as UTF-8 without a byte order mark")
    try:
        parser.Parse(policy, True)
    except expat.ExpatError as problem:
        fail(f"not well-formed XML: {expat.ErrorString(problem.code)}")
    return warnings


async def check(host: str, port: int, seconds: float = 2.0) -> str:
    """Request the policy as Flash does, and return it. Raise `Problem` for any other answer."""
    where = f"{host}:{port}"
    try:
        async with asyncio.timeout(seconds):
            reader, writer = await asyncio.open_connection(host, port, limit=MAX_BYTES)
            writer.write(REQUEST)
            policy = (await reader.readuntil(b"\0"))[:-1]
            if await reader.read(1):
                raise Problem(f"{where}: bytes after the NUL; Flash would refuse them")
            writer.close()
    except (OSError, EOFError, asyncio.LimitOverrunError) as problem:
        raise Problem(f"{where}: no policy with a NUL at its end: {problem!r}") from None
    check_policy(policy, f"policy from {where}", port)
    return policy.decode()


async def run(options: argparse.Namespace) -> None:
    """Serve until SIGTERM or SIGINT. Raise `Problem` if it cannot begin."""
    log, loop, stop = Log(options.log_lines), asyncio.get_running_loop(), asyncio.Event()
    answer = load(options.file, options.port, log)
    listeners = listen(options.host, options.port, options.unix)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)  # in Docker 29: 1024, 524288
    files = max(soft, min(options.max_connections + OWN_DESCRIPTORS, hard))
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
    room = max(1, files - OWN_DESCRIPTORS)
    if options.max_connections > room:  # close the others immediately, rather than let them wait
        log.event("warning", warning=f"only {room} connections fit into the limit of open files (ulimit -n)")
    caps = min(options.max_connections, room), options.max_per_address
    server = Server(answer, log, options.deadline, *caps)

    def reload() -> None:
        try:
            server.answer = load(options.file, options.port, log)
            log.event("reloaded", file=str(options.file))
        except Problem as problem:
            log.event("reload-failed", error=str(problem), kept="the old policy")

    loop.add_signal_handler(signal.SIGHUP, reload)
    loop.add_signal_handler(signal.SIGUSR1, lambda: log.event("counters", **log.counts))
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    loop.add_signal_handler(signal.SIGINT, stop.set)
    addresses = [listener.getsockname() for listener in listeners]
    log.event("listening", addresses=addresses, file=str(options.file))
    accepting = [asyncio.create_task(server.accept(listener)) for listener in listeners]
    while not stop.is_set():
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), 1)
        log.tick()
    for task in accepting:
        task.cancel()
    with suppress(TimeoutError):
        await asyncio.wait_for(asyncio.gather(*server.open, return_exceptions=True), STOP_PATIENCE)
    log.tick()
    log.event("counters", **log.counts)
    log.event("stopped")


def number(text: str) -> int:
    """Return a port, a count or seconds from the command line; raise ValueError unless it is 0 to 65535."""
    if not 0 <= int(text) <= 65535:
        raise ValueError
    return int(text)


def main() -> int:
    """Run the command; return 0, or 1 after a problem, which is printed on standard error."""
    parser = argparse.ArgumentParser(prog="policyd", description="Flash socket policy daemon")
    parser.formatter_class = argparse.ArgumentDefaultsHelpFormatter
    option = parser.add_argument
    option("--port", type=number, default=3000, help="0: the kernel chooses one")
    option("--file", type=Path, default=Path("flashpolicy.xml"), help="the policy")
    option("--host", action="append", default=[], help="an address to listen on, repeatable; none: all")
    option("--unix", type=Path, metavar="PATH", help="a Unix socket to listen on, too")
    option("--deadline", type=number, default=5, help="seconds for a connection")
    option("--max-connections", type=number, default=512, help="open at once")
    option("--max-per-address", type=number, default=400, help="for a proxy; without one, 10 is plenty")
    option("--log-lines", type=number, default=20, help="lines about connections in a second")
    commands = parser.add_subparsers(dest="command")
    checking = commands.add_parser("check", help="ask as Flash does, and print the policy")
    checking.add_argument("host")
    checking.add_argument("port", type=number)
    options = parser.parse_args()
    try:
        if options.command == "check":
            print(asyncio.run(check(options.host, options.port)))
        else:
            asyncio.run(run(options))
    except Problem as problem:
        print(f"policyd: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
