"""Two real backends, "backend" and "mirror", with separate folders; clients connect as nginx does."""

import json
import os
import re
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from forked import SRC, run_upstage
from running_backend import PASSWORD, RARELY
from support.program import Program
from support.stage_client import StageClient
from support.wait import wait_until
from upstage.mirror.control import Control
from upstage.state.database import FILE

# Shorter times, but for the watchdog, which is another program.
RUN = f"""
import os, sys
from upstage import service
from upstage.mirror import active, standby
from upstage.settings import from_environment
service.HEARTBEAT = {RARELY}
active.STEADY = standby.STEADY = 3
standby.HANG = 12
sys.exit(service.serve(from_environment(os.environ)))
"""


class Server(Program):
    """One of the two; not running before `start`."""

    def __init__(self, pair: "Pair", name: str, other: str, env: dict[str, str]) -> None:
        self.name = name
        self.log = pair.folder / f"{name}.log"
        self.data, self.media = (pair.folder / f"{name}-{kind}" for kind in ("data", "media"))
        self.env = os.environ | {
            "PYTHONPATH": str(SRC),
            "UPSTAGE_PLACE": name,
            "UPSTAGE_DATA": str(self.data),
            "UPSTAGE_MEDIA": str(self.media),
            "UPSTAGE_PEER_DATA": str(pair.folder / f"{other}-data"),
            "UPSTAGE_PEER_MEDIA": str(pair.folder / f"{other}-media"),
            "UPSTAGE_SOCKETS": str(pair.folder / "upstage"),
            "UPSTAGE_FESTIVAL": "off",
            "UPSTAGE_WEB_ENDPOINT": "tcp:0:interface=127.0.0.1",
            "UPSTAGE_STAGE_ENDPOINT": "haproxy:tcp:0:interface=127.0.0.1",
            "UPSTAGE_METRICS_ENDPOINT": "tcp:0:interface=127.0.0.1",
            **env,
        }
        self._pair = pair

    def run(self) -> None:
        """Start it."""
        super().__init__([sys.executable, "-c", RUN], self.env, self.log)

    def damage(self) -> None:
        """Overwrite its database, and everything that SQLite could restore it from."""
        for path in self.data.glob(f"{FILE}*"):
            path.write_bytes(b"not a database" * 1000)

    def start(self) -> None:
        """Start it; return when it serves, or stands by."""
        self.run()
        self.wait_for(lambda: self.serves or self.stands_by)

    @property
    def is_running(self) -> bool:
        return hasattr(self, "process") and self.process.poll() is None

    @property
    def serves(self) -> bool:
        return self._pair.control.active.text() == f"{self.name} serving"

    @property
    def stands_by(self) -> bool:
        return self._pair.control.is_standing_by(self.name)

    @property
    def web_port(self) -> int:
        """The TCP port of the current run."""
        return int(re.findall(r"\bSite starting on (\d+)", self.log.read_text())[-1])

    def logged(self, event: str) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]
        return [line for line in lines if line["event"] == event]

    def upstage(self, *words: str, stdin: str = "") -> tuple[int, str, str]:
        """Run `upstage WORDS` beside this server; return status, output and errors."""
        return run_upstage(*words, env=self.env, stdin=stdin)

    @property
    def watchdog(self) -> int:
        """The process ID of its watchdog."""
        [child] = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return int(child)


class Pair:
    """Both servers, and the folder that they share."""

    def __init__(self, **env: str) -> None:
        self._folder = tempfile.TemporaryDirectory()  # a socket's path has to be short
        self.folder = Path(self._folder.name)
        self.control_folder = self.folder / "upstage.mirror"
        self.control = Control(self.control_folder)
        env = {"UPSTAGE_ADMIN_PASSWORD": PASSWORD, **env}
        self.backend = Server(self, "backend", "mirror", env)
        self.mirror = Server(self, "mirror", "backend", env)

    def start(self) -> None:
        """Make the backend serve and the mirror ready, whatever a test has left."""
        (self.control_folder / "preferred").unlink(missing_ok=True)
        for server in (self.backend, self.mirror):
            if not server.is_running:
                server.start()
        self.wait_until_serves(self.backend)
        self.wait_until_ready(self.mirror)

    def wait_until_ready(self, server: Server) -> None:
        wait_until(lambda: self.control.standby[server.name].text() == f"{server.name} ready", within=20)

    def wait_until_serves(self, server: Server) -> None:
        wait_until(partial(getattr, server, "serves"), within=20)

    @property
    def web(self) -> Path:
        """Where nginx and Varnish find the web server."""
        return self.folder / "upstage.sock"

    def connect(self) -> StageClient:
        """A connection to the stage socket, as nginx opens it."""
        client = StageClient(self.folder / "upstage-stage.sock", timeout=5)
        client.socket.sendall(b"PROXY TCP4 192.0.2.7 192.0.2.9 4711 7230\r\n")
        return client

    def joined(self) -> StageClient:
        """A client that has joined the demo stage."""
        client = self.connect()
        client.join()
        return client

    def stage(self) -> str:
        """Everything that a client that joins now is sent."""
        client = self.connect()
        frames = client.join()
        client.close()
        return str(frames)

    def end(self) -> None:
        """Stop what runs."""
        for server in (self.backend, self.mirror):
            if server.is_running:
                server.kill()
            if server.log.exists():
                assert not server.logged("Unhandled Error"), server.log.read_text()
        self._folder.cleanup()


def say(client: StageClient, text: str) -> None:
    """Say a line, and wait until it is on the disk and back."""
    client.send("TEXT", msg=text)
    client.until("ANONTEXT")
