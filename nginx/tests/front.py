"""nginx as it is deployed, in a folder of its own: only the addresses are swapped, as native mode does."""

import contextlib
import http.client
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from support.ports import free_ports
from tiers import LineMock, Mock

NGINX = Path(__file__).resolve().parent.parent
T = TypeVar("T")
PATH = f"{os.environ['PATH']}:/usr/sbin"  # where Debian keeps nginx


def eventually(check: Callable[[], T], within: float = 10) -> T:
    """Repeat a check until it is true; its last answer or error after `within` seconds."""
    deadline = time.monotonic() + within
    while True:
        with contextlib.suppress(OSError, AssertionError, http.client.HTTPException):
            if answer := check():
                return answer
        if time.monotonic() > deadline:
            answer = check()
            assert answer, "it stayed false"
            return answer
        time.sleep(0.02)


@dataclass
class Answer:
    """What a client got; header names in lower case, repeated ones joined by a comma."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode()


def receive(connection: socket.socket, method: str = "GET") -> Answer:
    """Read one answer; an empty one with status 0 if the server closes instead."""
    answer = http.client.HTTPResponse(connection, method=method)
    try:
        answer.begin()
    except (http.client.BadStatusLine, ConnectionError):
        return Answer(0, {}, b"")
    names = {name.lower() for name, _ in answer.getheaders()}
    return Answer(
        answer.status, {name: ", ".join(answer.msg.get_all(name, [])) for name in names}, answer.read()
    )


class Front:
    """The files, the mocks behind them and, from `start` on, a running nginx. Knobs are its environment."""

    def __init__(self, **knobs: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="front-", dir="/tmp"))  # short: it holds sockets
        self.folder.chmod(0o755)  # nginx's workers are somebody else
        self.conf, self.sockets, self.media = (self.folder / name for name in ("nginx", "sockets", "media"))
        self.generated, self.tls = self.folder / "generated", self.folder / "tls"
        for folder in (self.sockets, self.media, self.generated, self.tls):
            folder.mkdir()
        self.sockets.chmod(0o1777)
        self.log = self.folder / "log"
        self.knobs = knobs
        self.varnish = Mock("varnish", self.sockets / "varnish.sock")
        self.varnish_tcp = Mock("varnish over TCP")
        self.backend = Mock("backend", self.sockets / "backend.sock")
        self.backend_stage = LineMock("stage", self.sockets / "backend-stage.sock")
        self.policyd = LineMock("policyd")
        self.locust = LineMock("locust")
        self.metrics = Mock("metrics")
        self.mocks = [
            self.varnish,
            self.varnish_tcp,
            self.backend,
            self.backend_stage,
            self.policyd,
            self.locust,
            self.metrics,
        ]
        # All of 127.0.0.0/8 is loopback. On an address of its own, no client's connection has the port.
        self.address = f"127.{random.randint(64, 254)}.{random.randint(1, 254)}.{random.randint(1, 254)}"
        self.public, self.secure, self.load, self.stage, self.policy = free_ports(5, self.address)
        self.load_stage, self.load_policy, self.second_stage, self.locust_page = free_ports(4, self.address)
        self.process: subprocess.Popen[bytes] | None = None
        self.lay_out()

    def lay_out(self) -> None:
        """Copy the configuration as it is and swap the addresses."""
        shutil.copytree(NGINX, self.conf, ignore=shutil.ignore_patterns("tests"), dirs_exist_ok=True)
        self.edit("upstreams.conf", "/run/proscenium", str(self.sockets))
        self.edit("upstreams.conf", "varnish:8080", f"127.0.0.1:{self.varnish_tcp.port}")
        self.edit("upstreams.conf", "backend:9110", f"127.0.0.1:{self.metrics.port}")
        self.edit("upstreams.conf", "/srv/media", str(self.media))
        self.edit("upstreams-stream.conf", "/run/proscenium", str(self.sockets))
        self.edit("upstreams-stream.conf", "policyd:3000", f"127.0.0.1:{self.policyd.port}")
        self.edit("listen.conf", "8080", f"{self.address}:{self.public}")
        self.edit("listen-tls.conf", "8443", f"{self.address}:{self.secure}")
        self.edit("listen-load.conf", "8000", f"{self.address}:{self.load}")
        self.edit("listen-stage.conf", "7230", f"{self.address}:{self.stage}")
        self.edit("listen-policy.conf", "3000", f"{self.address}:{self.policy}")
        self.edit("listen-load-stage.conf", "17230", f"{self.address}:{self.load_stage}")
        self.edit("listen-load-policy.conf", "13000", f"{self.address}:{self.load_policy}")
        self.edit("listen-second.conf", "7231", f"{self.address}:{self.second_stage}")
        self.edit("upstreams-stream.conf", "locust:8089", f"127.0.0.1:{self.locust.port}")
        self.edit("listen-locust.conf", "8089", f"{self.address}:{self.locust_page}")

    def edit(self, name: str, old: str, new: str) -> None:
        """Replace a text in a file of the configuration, which must have it."""
        path = self.conf / name
        text = path.read_text()
        assert old in text, f"{name} has no {old!r}"
        path.write_text(text.replace(old, new))

    def script(self, name: str, **knobs: str) -> subprocess.CompletedProcess[str]:
        """Run one of the shell scripts to its end."""
        return subprocess.run(
            ["sh", self.conf / name, self.conf / "nginx.conf", self.folder],
            env=self.environment(**knobs),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=20,
        )

    def environment(self, **knobs: str) -> dict[str, str]:
        """PATH, the folder for the certificate and the knobs; nothing that a user may have set."""
        return {"PATH": PATH, "TLS_FOLDER": str(self.tls), **self.knobs, **knobs}

    def start(self) -> None:
        """Run start.sh; wait until it answers."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                ["sh", self.conf / "start.sh", self.conf / "nginx.conf", self.folder],
                env=self.environment(),
                stdout=log,
                stderr=log,
            )

        def answers() -> bool:
            assert self.process
            if self.process.poll() is not None:
                raise RuntimeError(f"nginx has ended: {self.log.read_text()}")
            return self.ask("/.nginx/health", port=self.load).status == 204

        eventually(answers)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(10)
        for mock in self.mocks:
            mock.close()
        shutil.rmtree(self.folder)

    def connect(self, port: int | None = None, source: str = "") -> socket.socket:
        """A TCP connection to one of nginx's ports, the public one by default; `source` is any 127.x.y.z."""
        own = (source, 0) if source else None  # a bound port could not be shared with connections elsewhere
        return socket.create_connection((self.address, port or self.public), 10, own)

    def raw(self, request: bytes, port: int | None = None, method: str = "GET", source: str = "") -> Answer:
        """Send bytes as they are; the first answer."""
        with self.connect(port, source) as connection:
            connection.sendall(request)
            return receive(connection, method)

    def ask(
        self,
        path: str,
        host: str = "localhost",
        method: str = "GET",
        port: int | None = None,
        body: bytes = b"",
        source: str = "",
        **headers: str,
    ) -> Answer:
        """One request over a connection of its own; `if_none_match="x"` becomes `if-none-match: x`."""
        fields = {"host": host, **{name.replace("_", "-"): value for name, value in headers.items()}}
        if body:
            fields["content-length"] = str(len(body))
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        return self.raw(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body, port, method, source)

    def lines(self, pattern: str) -> list[str]:
        """The lines of all of nginx's logs that hold a pattern."""
        return [line for line in self.log.read_text().splitlines() if re.search(pattern, line)]
