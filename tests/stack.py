"""One running stack, in containers or as plain processes, driven by the commands a user types."""

import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qsl

import requests

from tests.support.checks import check
from tests.support.ports import free_port_range, free_ports
from tests.support.stage_client import StageClient, WebStageClient
from tests.support.wait import wait_until

REPO = Path(__file__).resolve().parent.parent
# Two checkouts, or two files, can be tested at the same time.
SITES = ("localhost", "classic.localhost", "nginx.localhost", "static.localhost")
PROJECT = "{}-test{}".format(
    os.environ.get("COMPOSE_PROJECT_NAME", "proscenium"), os.environ.get("PYTEST_XDIST_WORKER", "")
)
PORTS = (
    *("HTTP_PORT", "HTTPS_PORT", "SWF_PORT", "POLICY_FILE_PORT", "LOCUST_PORT", "WEB_PORT"),
    *("OBSERVE_PORT", "APP_PURGE_PORT"),
    "THEATRES_SWF_PORT",  # the next port is free as well, for a second theatre
)

# Variables that `make test` itself has set, or that a test sets.
NOT_INHERITED = {"UPSTAGE_ADMIN_PASSWORD", "SERVER_NAMES", "ONLY", "COMPOSE_FILE"}


def draw_ports() -> dict[str, int]:
    """Return a free port for each of PORTS; the port after the last one is free, too."""
    theatres, _ = free_port_range(2)
    return dict(zip(PORTS, [*free_ports(len(PORTS) - 1), theatres], strict=True))


def webcam_ports() -> dict[str, str]:
    """Return settings for extras/webcam, with more passive ports than the simulated camera uses at a time."""
    first, last = free_port_range(3)
    return {"FTP_PORT": str(free_ports(1)[0]), "FTP_PASSIVE_PORTS": f"{first}-{last}"}


@dataclass
class Stack:
    """A copy of the stack under its own project name, ports and loopback network."""

    mode: str  # "containers" or "native"
    project: str
    ports: dict[str, int] = field(default_factory=draw_ports)
    printed: str = ""  # the output of the first `make up`
    settings: dict[str, str] = field(default_factory=dict)  # any other line of .env
    folder: Path = REPO  # the checkout that the commands are typed in
    # All of 127.0.0.0/8 is loopback; networks from 64 on do not collide with one that a user chooses.
    native_net: str = field(default_factory=lambda: f"127.{random.randint(64, 254)}.{random.randint(0, 254)}")

    @property
    def environment(self) -> dict[str, str]:
        """The settings that a user would write into .env."""
        return {
            **{key: value for key, value in os.environ.items() if key not in NOT_INHERITED},
            **{name: str(port) for name, port in self.ports.items()},
            "MODE": self.mode,
            "COMPOSE_PROJECT_NAME": self.project,
            "NATIVE_NET": self.native_net,
            "EXTRAS": "",
            "THEATRES": "",
            **self.settings,
        }

    @property
    def compose_files(self) -> list[str]:
        """The settings that plain Compose commands need instead of EXTRAS and THEATRES."""
        extras = self.settings.get("EXTRAS", "").split(",")
        theatres = map(str, sorted(Path(self.folder, ".run", self.project, "theatres").glob("*.yaml")))
        return ["compose.yaml", *(f"extras/{extra}/compose.yaml" for extra in extras if extra), *theatres]

    @contextmanager
    def running(self) -> Iterator[Self]:
        """Start the stack; remove it at the end, and before the start what an earlier run may have left."""
        self.make("clean")
        try:
            self.printed = self.make("up")
            yield self
        finally:
            self.make("clean")

    def make(self, target: str, *settings: str) -> str:
        """Run `make TARGET [NAME=value]`; return its output. If it fails, raise AssertionError with that."""
        typed = {"APP": self.settings.get("APP", "")}
        typed["MODE"] = self.mode if target == "up" else ""
        return self._run(
            "make", target, *(f"{name}={value}" for name, value in typed.items() if value), *settings
        )

    def compose(self, *arguments: str, typed: str = "") -> str:
        """Run a Compose command on this project and its extras (containers only); return its output."""
        files = (f"--file={file}" for file in self.compose_files)
        return self._run("docker", "compose", *files, *arguments, typed=typed)

    def inside(self, *command: str) -> str:
        """Run one of the stack's tools where its service runs, such as varnishlog; return its output."""
        return self._run("bin/inside", *command)

    def upstage(self, *arguments: str, password: str = "") -> str:
        """Run the backend's own command where it runs; return its output. `password` is typed at a prompt."""
        if self.mode == "containers":
            return self._run(
                "docker", "compose", "exec", "-T", "backend", "upstage", *arguments, typed=password
            )
        return self._run(
            "env",
            f"UPSTAGE_DATA={self.native_data / 'upstage'}",
            f"UPSTAGE_MEDIA={self.native_data / 'media'}",
            f"PYTHONPATH={REPO / 'backend' / 'src'}",
            str(REPO / ".venv/bin/python"),
            *("-m", "upstage", *arguments),
            typed=password,
        )

    def write_medium(self, place: str, file: str, text: str) -> None:
        """Write a file into the media folder of `backend` or `mirror`, behind the server's back."""
        if self.mode == "containers":
            folder = "/srv/mirror-media" if place == "mirror" else "/srv/media"
            self.compose("exec", "-T", place, "sh", "-c", f"cat >{folder}/{file}", typed=text)
        else:
            folder = "mirror-media" if place == "mirror" else "media"
            (self.native_data / folder / file).write_text(text)

    def _run(self, *command: str, typed: str = "") -> str:
        return check(*command, cwd=self.folder, env=self.environment, input=typed, timeout=600)

    def control(self, action: str, service: str) -> None:
        """Stop, start or restart one service, as `docker compose` does."""
        if self.mode == "containers":
            self.compose(action, service)
        else:
            control = self.native_run / "supervisor.sock"
            ctl = str(REPO / ".venv/bin/supervisorctl")
            self._run(ctl, "-s", f"unix://{control}", action, service)

    def restart(self, service: str) -> None:
        """Restart a service; wait until every service has noticed."""
        self.control("restart", service)
        self.wait_until_ready()
        wait_for_quiet_network()

    def wait_until_ready(self) -> None:
        """Wait until the backend answers on every site: each VCL of Varnish has its own probe."""
        for host in ("localhost", "classic.localhost", "nginx.localhost", "static.localhost"):
            wait_until(partial(self._answers, host), within=60)

    def _answers(self, host: str) -> bool:
        return self.get("/admin/id", host).status_code == 200

    def port(self, host: str) -> int:
        """Return the port on which a host name is served."""
        return self.ports["WEB_PORT" if host == "direct.localhost" else "HTTP_PORT"]

    def url(self, path: str, host: str = "localhost") -> str:
        """Return the URL of a path, as typed into a browser on this machine."""
        return f"http://{host}:{self.port(host)}{path}"

    def get(
        self,
        path: str,
        host: str = "localhost",
        method: str = "GET",
        headers: dict[str, str] | None = None,
        data: dict[str, str] | None = None,
    ) -> requests.Response:
        """Send one request over a new connection; follow no redirect. The Host header says `host`; the
        connection goes to 127.0.0.1, because not every resolver knows *.localhost."""
        return requests.request(
            method,
            f"http://127.0.0.1:{self.port(host)}{path}",
            headers={"Host": f"{host}:{self.port(host)}", **(headers or {})},
            data=data,
            allow_redirects=False,
            timeout=20,
        )

    def prometheus(self, path: str, **query: object) -> Any:
        """Return the data in a response of Prometheus' API (extras/observe), requested through nginx."""
        url = f"http://127.0.0.1:{self.ports['OBSERVE_PORT']}/api/v1/{path}"
        response = requests.get(url, params={key: str(value) for key, value in query.items()}, timeout=15)
        assert response.status_code == 200, response.text
        return response.json()["data"]

    def alerts(self, state: str = "") -> set[str]:
        """Return the names of the active alerts: all, or those that are `pending` or `firing`."""
        alerts = self.prometheus("alerts")["alerts"]
        return {alert["labels"]["alertname"] for alert in alerts if state in ("", alert["state"])}

    def swarm(self, users: int) -> None:
        """Start a run on Locust's page; with 0 users, stop it."""
        page = f"http://localhost:{self.ports['LOCUST_PORT']}"
        if users:
            form = {"user_count": users, "spawn_rate": users}
            assert requests.post(f"{page}/swarm", data=form, timeout=10).json()["success"]
        else:
            assert requests.post(f"{page}/stop", timeout=10).json()["success"]

    def stage_client(self, theatre: int | None = None) -> StageClient:
        """Connect to the stage socket, or to that of a theatre, given by its place in the list, from 0."""
        port = self.ports["SWF_PORT"] if theatre is None else self.ports["THEATRES_SWF_PORT"] + theatre
        return StageClient(("127.0.0.1", port))

    def web_stage_client(self, host: str = "localhost") -> WebStageClient:
        """Open a WebSocket to /ws of a host."""
        return WebStageClient(self.port(host), host)

    def player_key(self, name: str, password: str) -> str:
        """Sign in; return the key of the player's socket, from /admin/id."""
        login = self.get("/admin/login", method="POST", data={"username": name, "password": password})
        session = {"Cookie": login.headers["Set-Cookie"].split(";")[0]}
        return dict(parse_qsl(self.get("/admin/id", headers=session).text))["key"]

    @property
    def admin_password(self) -> str:
        """The admin's password as `make up` printed it."""
        return self.printed.split("password: ")[1].split()[0]

    @property
    def native_run(self) -> Path:
        """The folder of a native stack's logs and sockets."""
        return Path(f"/tmp/proscenium-{os.getuid()}", self.project)

    @property
    def native_data(self) -> Path:
        """The folder of a native stack's data: elsewhere if others may not enter the checkout (native.sh)."""
        elsewhere = Path("/var/lib/proscenium", self.project)
        return elsewhere if elsewhere.exists() else REPO / ".run" / self.project / "data"

    def log_of(self, service: str) -> str:
        """Return the whole output of a service."""
        if self.mode == "containers":
            return self.compose("logs", "--no-log-prefix", "--no-color", service)
        return (self.native_run / "log" / f"{service}.log").read_text()

    def log(self) -> str:
        """Return the end of every service's log."""
        if self.mode == "containers":
            return self.compose("logs", "--tail", "40", "--no-color")
        logs = self.native_run / "log"
        return "\n".join(
            f"--- {log.name}\n" + "\n".join(log.read_text(errors="replace").splitlines()[-40:])
            for log in sorted(logs.glob("*.log"))
        )


def wait_for_quiet_network() -> None:
    """Wait until this machine's network addresses have not changed for 3 seconds.

    The bridge port of a new container gets an address about 2 seconds later, and Chromium aborts what it is
    loading (ERR_NETWORK_CHANGED) when an address comes or goes.
    """
    addresses = Path("/proc/net/if_inet6")
    if not addresses.exists():
        return
    known, since = addresses.read_text(), time.monotonic()
    while time.monotonic() < since + 3:
        time.sleep(0.2)
        if (now := addresses.read_text()) != known:
            known, since = now, time.monotonic()
