"""A running Varnish for a test: `start.sh` as it is, on a loopback address that nobody else has.

Its backends listen on Unix sockets and tell what they were asked."""

import os
import random
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingUnixStreamServer

VCL = Path(__file__).parent.parent
# Debian keeps varnishd where an ordinary user's PATH does not look.
PATH = f"{os.environ['PATH']}:/usr/sbin:/usr/bin"


class UnixConnection(HTTPConnection):
    """HTTP over a Unix socket: what nginx does."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=10)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: str


def ask(
    connection: HTTPConnection, path: str, headers: dict[str, str] | None = None, method: str = "GET"
) -> Answer:
    connection.request(method, path, headers=headers or {})
    response = connection.getresponse()
    return Answer(response.status, dict(response.headers), response.read().decode())


@dataclass
class Backend:
    """Answers every request with its own name after `delay` seconds; `asked` holds the paths, no probes.

    `/media/size-N` is answered with N bytes. An empty `cache_control` is left out.
    """

    socket: Path
    cache_control: str = "no-store"
    delay: float = 0.0
    asked: list[str] = field(default_factory=list)
    alive: bool = False

    def start(self) -> None:
        backend = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                if not backend.alive:
                    self.close_connection = True
                    return
                if self.path != "/health":
                    backend.asked.append(self.path)
                    time.sleep(backend.delay)
                size = re.match(r"/media/size-(\d+)", self.path)
                body = b"x" * int(size[1]) if size else backend.socket.stem.encode()
                self.send_response(200)
                if backend.cache_control:
                    self.send_header("Cache-Control", backend.cache_control)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_POST(self) -> None:
                self.do_GET()

            def log_message(self, *_: object) -> None:
                pass

        self.alive = True
        self.socket.unlink(missing_ok=True)  # what a killed process leaves behind
        self._server = ThreadingUnixStreamServer(str(self.socket), Handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self.socket.chmod(0o666)  # varnishd's child is another user
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def die(self) -> None:
        """As after a kill: connections break, nobody listens, and the socket is still in the folder."""
        self.alive = False
        self._server.shutdown()
        self._server.server_close()


class Playhouse:
    """Varnish at `host`:8080 and on `sockets / "varnish.sock"`, with a copy of the VCL in `folder`."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.host = f"127.{random.randint(64, 250)}.{random.randint(1, 250)}.{random.randint(2, 250)}"
        self.folder = Path(shutil.copytree(VCL, base / "varnish", ignore=shutil.ignore_patterns("tests")))
        self.sockets = base / "sockets"
        self.sockets.mkdir()
        self.backend = Backend(self.sockets / "backend.sock")

    def _environment(self) -> dict[str, str]:
        return os.environ | {
            "PATH": PATH,
            "VARNISH_SOCKETS": str(self.sockets),
            "VARNISH_GENERATED": str(self.base / "generated"),
            "VARNISH_STORAGE": f"file,{self.base}/cache.bin,16m",
        }

    def open(self) -> None:
        self.backend.start()
        self.log = (self.base / "varnish.log").open("w")
        # No jail: the compiler would run as a user who may not look into this folder.
        options = ["-j", "none", "-n", str(self.base / "work")]
        self._varnish = subprocess.Popen(
            ["sh", str(self.folder / "start.sh"), self.host, *options],
            env=self._environment(),
            stdout=self.log,
            stderr=subprocess.STDOUT,
        )
        wait_for(lambda: self.get("/.varnish/health").status == 200, 20, self.read_log)

    def close(self) -> None:
        self._varnish.terminate()
        self._varnish.wait(20)
        self.log.close()
        self.backend.die()

    def read_log(self) -> str:
        return (self.base / "varnish.log").read_text()

    def get(self, path: str, headers: dict[str, str] | None = None, method: str = "GET") -> Answer:
        """By TCP."""
        connection = HTTPConnection(self.host, 8080, timeout=10)
        try:
            return ask(connection, path, headers, method)
        finally:
            connection.close()

    def get_unix(self, path: str, headers: dict[str, str] | None = None) -> Answer:
        connection = UnixConnection(self.sockets / "varnish.sock")
        try:
            return ask(connection, path, headers)
        finally:
            connection.close()

    def reload(self) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", self.folder / "reload.sh", self.host],
            env=self._environment(),
            text=True,
            capture_output=True,
        )

    def cli(self, *command: str) -> str:
        """What varnishd says to an order; the secret is the one that start.sh made."""
        secret = self.base / "generated" / "secret"
        address = ["-T", f"{self.host}:8180", "-S", str(secret)]
        return subprocess.check_output(["varnishadm", *address, *command], env=self._environment(), text=True)

    def stat(self, name: str) -> str:
        """One of varnishd's counters."""
        work = ["-n", str(self.base / "work")]
        command = ["varnishstat", *work, "-1", "-f", name]
        return subprocess.check_output(command, env=self._environment(), text=True).split()[1]


def wait_for(true: Callable[[], bool], seconds: float, report: Callable[[], str] = str) -> float:
    """Wait until `true()`; tell how many seconds it took."""
    start = time.monotonic()
    while time.monotonic() - start < seconds:
        with suppress(OSError, HTTPException):
            if true():
                return time.monotonic() - start
        time.sleep(0.1)
    raise AssertionError(f"not within {seconds} s: {report()}")


@contextmanager
def playhouse() -> Iterator[Playhouse]:
    # Not pytest's folder: the path of a socket may have 107 bytes only.
    base = Path(tempfile.mkdtemp(prefix="playhouse-"))
    house = Playhouse(base)
    try:
        house.open()
        yield house
    finally:
        house.close()
        shutil.rmtree(base)
