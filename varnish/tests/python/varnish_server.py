"""varnishd with the deployed start.sh and VCL: its environment names loopback ports and a test's backend."""

import socket
import subprocess
import threading
from pathlib import Path

from tests.support.http import Address, Response, request
from tests.support.origin import Origin, response
from tests.support.origin import Request as BackendRequest
from tests.support.ports import free_ports
from tests.support.program import Service

VARNISH = Path(__file__).parent.parent.parent
# The C compiler, which varnishd tells to optimise each VCL, would take most of a short test's time.
QUICK = "cc_command=exec cc -O0 -fpic -pthread -shared -Wl,-x -o %o %s"


class Backend(Origin):
    """Answers with its name, or to `/media/size-N` with N bytes; `requests` leaves out the probe's.

    The responses carry `cache_control`, unless that is empty. Without `go` they wait.
    """

    def __init__(self, name: str, path: Path | None = None) -> None:
        self.go = threading.Event()
        super().__init__(name, path, quiet=("/health",))
        self.forget()

    def forget(self) -> None:
        super().forget()
        self.go.set()
        self.cache_control = "no-store"
        self.respond = self._respond

    def _respond(self, request: BackendRequest) -> bytes:
        if request.target not in self.quiet:
            self.go.wait(30)
        _, sized, size = request.target.partition("?")[0].partition("/media/size-")
        headers = {"cache_control": self.cache_control} if self.cache_control else {}
        return response(b"x" * int(size) if sized else self.name, **headers)


class VarnishServer(Service):
    """The backend and, from `start` on, a running varnishd. `settings` are added to its environment."""

    def __init__(self, **settings: str) -> None:
        super().__init__(VARNISH)
        self.socket = self.folder / "varnish.sock"
        self.generated = self.folder / "generated"
        self.workdir = self.folder / "workdir"
        self.backend = Backend("backend", self.folder / "backend.sock")
        self.origins = [self.backend]
        self.port, self.purge_port, self.admin_port = free_ports(3)
        self.settings = {
            "VARNISH_LISTEN": f"127.0.0.1:{self.port}",
            "VARNISH_LISTEN_SOCKET": str(self.socket),
            "VARNISH_LISTEN_PURGE": f"127.0.0.1:{self.purge_port}",
            "VARNISH_LISTEN_CLI": f"127.0.0.1:{self.admin_port}",
            "VARNISH_WORKDIR": str(self.workdir),
            "VARNISH_GENERATED": str(self.generated),
            "VARNISH_STORAGE": f"file,{self.folder}/cache.bin,16m",
            "BACKEND_ADDRESS": self.backend.address,
            **settings,
        }

    def start(self) -> None:
        """Run start.sh; wait until varnishd answers."""
        # No jail: in one, the compiler would run as a user who cannot read these folders.
        self.run_start(lambda: self.request("/.varnish/health").status == 200, "-j", "none", "-p", QUICK)

    def answers(self) -> bool:
        """Return whether a process listens on the port."""
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", self.port)) == 0

    def request(
        self,
        path: str,
        host: str = "localhost",
        method: str = "GET",
        address: Address | None = None,
        **headers: str,
    ) -> Response:
        """Send one request over TCP, or over the Unix socket with `address=server.socket`."""
        return request(address or ("127.0.0.1", self.port), path, host, method, b"", "", **headers)

    def cli(self, *command: str) -> str:
        """Return varnishd's answer to a command, sent with the secret that start.sh made."""
        address = ["-T", self.settings["VARNISH_LISTEN_CLI"], "-S", str(self.generated / "secret")]
        return subprocess.check_output(["varnishadm", *address, *command], env=self.environment(), text=True)

    def counter(self, name: str) -> int:
        """Return the value of one of varnishd's counters."""
        command = ["varnishstat", "-n", str(self.workdir), "-1", "-f", name]
        return int(subprocess.check_output(command, env=self.environment(), text=True).split()[1])
