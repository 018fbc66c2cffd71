"""nginx with the deployed configuration: its environment names loopback ports and a test's origins."""

import random
import re
import socket
import ssl
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.support.http import Response, connect, exchange, message, receive
from tests.support.origin import EchoServer, Origin, Request
from tests.support.ports import free_ports
from tests.support.program import Service

NGINX = Path(__file__).resolve().parent.parent
UPGRADED = (
    b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"  # a backend's response
)
SITES = ["localhost", "classic.localhost", "nginx.localhost", "static.localhost"]
LISTENERS = (
    *("LISTEN_HTTP", "LISTEN_HTTPS", "LISTEN_LOAD", "LISTEN_STAGE", "LISTEN_LOAD_STAGE"),
    *("LISTEN_POLICY", "LISTEN_LOAD_POLICY", "LISTEN_LOCUST", "LISTEN_DIRECT"),
    *("LISTEN_LOAD_APP", "LISTEN_LOAD_APP_NGINX", "LISTEN_OBSERVE", "LISTEN_STATUS", "LISTEN_OBSERVE_LOG"),
    *("LISTEN_LOAD_PROXY", "LISTEN_THEATRES_STAGE", "LISTEN_THEATRES_LOAD_STAGE"),
)


def command_line(pid: str) -> bytes:
    """Return the command line of a process; empty once the process has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


class NginxServer(Service):
    """The origins and, from `start` on, a running nginx. `settings` are added to its environment."""

    def __init__(self, **settings: str) -> None:
        super().__init__(NGINX)
        self.folder.chmod(0o755)  # nginx's workers run as another user
        self.sockets, self.media = self.folder / "sockets", self.folder / "media"
        self.generated, self.certificates = self.folder / "generated", self.folder / "certificates"
        for folder in (self.sockets, self.media, self.generated, self.certificates):
            folder.mkdir()
        self.varnish = Origin("varnish", self.sockets / "varnish.sock")
        self.varnish_tcp = Origin("varnish over TCP")
        self.backend = Origin("backend", self.sockets / "backend.sock")
        self.metrics, self.prometheus, self.exporter = map(Origin, ("metrics", "prometheus", "exporter"))
        self.backend_stage = EchoServer("stage", self.sockets / "backend-stage.sock")
        self.backend_direct = EchoServer("direct", self.sockets / "backend-direct.sock")
        self.policyd = EchoServer("policyd", self.sockets / "policyd.sock")
        self.locust = EchoServer("locust")
        self.origins = [
            *(self.varnish, self.varnish_tcp, self.backend, self.metrics, self.prometheus, self.exporter),
            *(self.backend_stage, self.backend_direct, self.policyd, self.locust),
        ]
        # All of 127.0.0.0/8 is loopback. On a separate address, no client's connection occupies the port.
        self.address = f"127.{random.randint(64, 254)}.{random.randint(1, 254)}.{random.randint(1, 254)}"
        ports = free_ports(len(LISTENERS) + 2, self.address)
        del ports[-1], ports[-2]  # for a second theatre
        self.public, self.https, self.load, self.stage, self.load_stage = ports[:5]
        self.policy, self.load_policy, self.locust_page, self.direct = ports[5:9]
        self.load_site, self.load_site_nginx, self.observe, self.status = ports[9:13]
        self.load_proxy, *theatres = ports[14:]
        self.theatres_stage, self.theatres_load_stage = theatres  # the first theatre's; others follow
        self.settings = {
            "BIND_ADDR": self.address,
            **{name: f"{self.address}:{port}" for name, port in zip(LISTENERS, ports, strict=True)},
            "VARNISH_ADDRESS": self.varnish.address,
            "VARNISH_TCP_ADDRESS": self.varnish_tcp.address,
            "BACKEND_ADDRESS": self.backend.address,
            "BACKEND_STAGE_ADDRESS": self.backend_stage.address,
            "BACKEND_DIRECT_ADDRESS": self.backend_direct.address,
            "BACKEND_METRICS_ADDRESS": self.metrics.address,
            "POLICYD_ADDRESS": self.policyd.address,
            "LOCUST_ADDRESS": self.locust.address,
            "OBSERVE_ADDRESS": self.prometheus.address,
            "TRACES_ADDRESS": self.exporter.address,
            "APP_ADDRESS": f"unix:{self.sockets}/app.sock",
            "MEDIA_FOLDER": str(self.media),
            "THEATRES_ADDRESS": f"unix:{self.sockets}/*.sock",
            "THEATRES_STAGE_ADDRESS": f"unix:{self.sockets}/*-stage.sock",
            "THEATRES_MEDIA_FOLDER": f"{self.folder}/the theatres/*/media",
            "GENERATED_FOLDER": str(self.generated),
            "CERTIFICATE_FOLDER": str(self.certificates),
            "PREFIX": str(self.folder),
            **settings,
        }

    def edit(self, name: str, old: str, new: str) -> None:
        """Replace a text that a file must contain; the scripts then run from a copy of nginx/."""
        if self.scripts == NGINX:
            self.copy_scripts()
        path = self.scripts / name
        text = path.read_text()
        assert old in text, f"{name} has no {old!r}"
        path.write_text(text.replace(old, new))

    def use_one_worker(self) -> None:
        """Run one worker: a second could ask an upstream again while a response is still being stored."""
        self.edit("nginx.conf", "worker_processes 4;", "worker_processes 1;")

    def render(self, **settings: str) -> subprocess.CompletedProcess[str]:
        """Fill the templates without running nginx; return the finished process, with its output."""
        script = '. "$(dirname "$0")/scripts/render.sh"'
        return self.run("sh", "-c", script, self.scripts / "start.sh", **settings)

    def start(self) -> None:
        """Run start.sh; wait until nginx answers."""
        self.run_start(lambda: self.request("/.nginx/health", port=self.load).status == 204)

    def connect(self, port: int | None = None, source: str = "") -> socket.socket:
        """Return a connection to a port of nginx, by default the public one; `source` is any 127.x.y.z."""
        return connect((self.address, port or self.public), source=source)

    def exchange(
        self, data: bytes, port: int | None = None, method: str = "GET", source: str = ""
    ) -> Response:
        """Send bytes as they are; return the first response."""
        return exchange((self.address, port or self.public), data, method, source)

    def request(
        self,
        path: str,
        host: str = "localhost",
        method: str = "GET",
        port: int | None = None,
        body: bytes = b"",
        source: str = "",
        **headers: str,
    ) -> Response:
        """Send one request over a separate connection; `if_none_match="x"` means `if-none-match: x`."""
        return self.exchange(message(path, host, method, body, **headers), port, method, source)

    def crawl(self, path: str, address: str, host: str = "localhost") -> Response:
        """Send one request to the crawlers' port, from a client that claims this address."""
        said = f"PROXY TCP4 {address} 127.0.0.1 40000 8001\r\n".encode()
        return self.exchange(said + message(path, host), self.load_proxy)

    def trusting(self, certificate: Path | None = None) -> ssl.SSLContext:
        """Return a client's context that trusts only this certificate, by default the one that nginx made."""
        return ssl.create_default_context(cafile=str(certificate or self.certificates / "proscenium.pem"))

    def request_tls(
        self, host: str = "localhost", sni: str = "", tls: ssl.SSLContext | None = None
    ) -> Response:
        """Send one request by HTTPS; `sni` is the name in the handshake, by default the host's."""
        tls = tls or self.trusting()
        with tls.wrap_socket(self.connect(self.https), server_hostname=sni or host) as connection:
            connection.sendall(message("/", host))
            return receive(connection)

    def websocket(self, path: str, host: str) -> tuple[int, bytes]:
        """Upgrade, then send one word; return the status and the echo."""
        with self.connect() as connection:
            connection.sendall(message(path, host, upgrade="websocket", connection="Upgrade"))
            head = b""
            while b"\r\n\r\n" not in head:
                head += connection.recv(1)
            connection.sendall(b"bravo")
            return int(head.split()[1]), connection.recv(100)

    def respond_all(self, respond: Callable[[Request], bytes]) -> None:
        """Let every origin respond by this function."""
        for origin in self.origins:
            origin.respond = respond

    @property
    def requests(self) -> list[Request]:
        """The requests that arrived at any origin."""
        return [request for origin in self.origins for request in origin.requests]

    def workers(self, title: bytes = b"nginx: worker process") -> set[int]:
        """Return the process numbers of nginx's workers, including any that are shutting down."""
        assert self.program
        master = self.program.process.pid
        children = Path(f"/proc/{master}/task/{master}/children").read_text().split()
        return {int(child) for child in children if title in command_line(child)}

    def log_lines(self, pattern: str) -> list[str]:
        """Return the lines of all of nginx's logs that match a pattern."""
        return [line for line in self.log.read_text().splitlines() if re.search(pattern, line)]
