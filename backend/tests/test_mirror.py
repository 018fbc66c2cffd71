"""Two servers with separate data, "backend" and "mirror": all clients move to the other one and back.

test_copying.py and test_lease.py cover the decisions of each server.
"""

import os
import re
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qsl

import pytest
import websocket

from backend.tests.forked import run_upstage
from backend.tests.running_backend import DRAWING, PASSWORD, RARELY, Editor, PurgedCache, ask, environment
from tests.support.program import Program
from tests.support.stage_client import StageClient, WebStageClient
from tests.support.wait import wait_until
from upstage.mirror.control import Control

# Shorter times, except for the watchdog, which is another program.
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
    """One of the two servers, which `start` starts."""

    def __init__(self, pair: "Pair", name: str, other: str, cache: PurgedCache) -> None:
        self.name, self._control = name, pair.control
        self.log = pair.folder / f"{name}.log"
        self.media = pair.folder / name / "media"
        self.env = environment(
            pair.folder / name,
            "haproxy:tcp:0:interface=127.0.0.1",
            UPSTAGE_ROLE=name,
            UPSTAGE_PEER_DATA=str(pair.folder / other / "data"),
            UPSTAGE_PEER_MEDIA=str(pair.folder / other / "media"),
            UPSTAGE_SOCKETS=str(pair.folder / "upstage"),
            UPSTAGE_ADMIN_PASSWORD=PASSWORD,
            UPSTAGE_PURGE=cache.address,
        )

    def start(self) -> None:
        super().__init__([sys.executable, "-c", RUN], self.env, self.log)
        self.wait_for(lambda: self.is_("serving") or self._control.is_standing_by(self.name))

    @property
    def is_running(self) -> bool:
        return hasattr(self, "process") and self.process.poll() is None

    def is_(self, state: str) -> bool:
        """Whether it is "serving", or "ready" to take over."""
        lease = self._control.active if state == "serving" else self._control.standby[self.name]
        return lease.text() == f"{self.name} {state}"

    def wait_until(self, state: str) -> None:
        wait_until(lambda: self.is_(state))

    @property
    def web_port(self) -> int:
        """The TCP port of the current run."""
        return int(re.findall(r"\bSite starting on (\d+)", self.log.read_text())[-1])

    def upstage(self, *words: str) -> tuple[int, str, str]:
        """Run `upstage WORDS` beside this server; return status, output and errors."""
        return run_upstage(*words, env=self.env)

    @property
    def watchdog(self) -> int:
        """The process ID of its watchdog."""
        [child] = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return int(child)


class Pair:
    """Both servers, the folder that they share, and their clients, which connect as nginx does."""

    def __init__(self, folder: Path, cache: PurgedCache) -> None:
        self.folder, self.cache = folder, cache
        self.control = Control(folder / "upstage.mirror")
        self.backend = Server(self, "backend", "mirror", cache)
        self.mirror = Server(self, "mirror", "backend", cache)

    def start(self) -> None:
        """Make the backend serve and the mirror ready, whatever a test has left."""
        (self.folder / "upstage.mirror" / "preferred").unlink(missing_ok=True)
        for server in (self.backend, self.mirror):
            if not server.is_running:
                server.start()
        self.backend.wait_until("serving")
        self.mirror.wait_until("ready")
        self.cache.forget_requests()

    def join(self, key: str = "undefined") -> tuple[StageClient, str]:
        """A client on the demo stage, and all that it was sent."""
        client = StageClient(self.folder / "upstage-stage.sock")
        client.socket.sendall(b"PROXY TCP4 192.0.2.7 192.0.2.9 4711 7230\r\n")
        return client, str(client.join(key))

    def say(self, text: str) -> StageClient:
        """Say a line, and wait until it is on the disk and back."""
        client, _ = self.join()
        client.send("TEXT", msg=text)
        client.until("ANONTEXT")
        return client


@pytest.fixture(scope="module")
def running() -> Iterator[Pair]:
    cache = PurgedCache()
    with tempfile.TemporaryDirectory() as folder:  # a socket's path has to be short
        pair = Pair(Path(folder), cache)
        yield pair
        for server in (pair.backend, pair.mirror):
            assert "Unhandled Error" not in server.log.read_text()
            server.kill()
    cache.close()


@pytest.fixture
def pair(running: Pair) -> Pair:
    """A backend that serves, and a mirror that is ready to take over."""
    running.start()
    return running


def assert_cut_off(client: StageClient) -> None:
    """The server closes the connection, though the client does nothing; raise TimeoutError if not."""

    def read_all() -> None:
        while True:
            client.receive_frame()

    with pytest.raises((EOFError, ConnectionError, websocket.WebSocketException)):
        read_all()


def test_all_clients_move_to_the_mirror_and_back(pair: Pair) -> None:
    """A killed backend, which comes back: lines said before and during the outage are not lost."""
    link = pair.folder / "upstage.mirror" / "media"  # for nginx
    clients = [pair.say("before"), pair.join()[0], WebStageClient(pair.backend.web_port)]
    pair.backend.kill()
    for client in clients:
        assert_cut_off(client)
    pair.mirror.wait_until("serving")
    assert link.readlink() == pair.mirror.media
    clients = [pair.say("during"), pair.join()[0], WebStageClient(pair.mirror.web_port)]
    pair.backend.start()  # the rest happens automatically
    for client in clients:
        assert_cut_off(client)
    pair.backend.wait_until("serving")
    pair.mirror.wait_until("ready")
    assert link.readlink() == pair.backend.media
    assert " before\\n during" in pair.join()[1]
    assert pair.cache.tags == []  # nothing was lost
    assert pair.mirror.upstage("healthcheck")[0] == 0
    status, _, errors = pair.mirror.upstage("stage", "add", "new")
    assert (status, errors) == (1, "upstage: mirror is the standby: run this command on backend\n")


def test_what_was_seen_and_who_is_signed_in_moves_along(pair: Pair) -> None:
    backend, mirror = pair.backend, pair.mirror
    editor = Editor(backend)
    editor.post("/admin/workshop/players", action="add", name="mia", password="12345678", act="yes")
    hat = editor.bring("Hat")
    assert editor.post("/admin/workshop/stages/demo", action="put", file=hat).status == 302
    before = ask(backend, f"/media/{hat}")
    player, _ = pair.join(dict(parse_qsl(editor.get("/admin/id").text))["key"])
    player.send("AV", ID="1")
    player.send("MOVE", X="17.5", Y="33")
    player.send("DRAW_LAYER", layer="2")
    player.send("DRAW_LINE", x="3", y="4")
    player.until("DRAW_LINE")
    assert "'17.5'" in (there := pair.join()[1])
    assert "'DRAW_LINE'" in there

    assert backend.upstage("mirror", "--to", "mirror") == (0, "active: mirror\n", "")
    assert_cut_off(player)
    after = ask(mirror, f"/media/{hat}")
    assert (after.body, after.headers["etag"]) == (before.body, before.headers["etag"])
    here = pair.join()[1]
    assert hat in here
    assert "'17.5'" in here
    assert "'DRAW_LINE'" in here
    Editor(mirror, "mia", "12345678")
    editor.backend = mirror
    assert editor.get("/admin/workshop/media").status == 200

    # In reverse: a change on the mirror reaches the backend.
    assert Editor(mirror).upload(f"/admin/workshop/media/{hat}", DRAWING % b"another hat").status == 302
    assert mirror.upstage("mirror", "--to", "backend") == (0, "active: backend\n", "")
    assert ask(backend, f"/media/{hat}").body == DRAWING % b"another hat"


def test_a_change_is_copied_by_itself_and_on_demand(pair: Pair) -> None:
    hat = Editor(pair.backend).bring("Hat")
    wait_until((pair.mirror.media / hat).exists)
    (pair.backend.media / "audio" / "new.mp3").write_bytes(b"12345" * 200)
    status, text, _ = pair.mirror.upstage("mirror")
    assert re.fullmatch(r"copied: the database \(.*; removed: 0\nactive: backend; standby: mirror\n", text)
    assert (status, (pair.mirror.media / "audio" / "new.mp3").exists()) == (0, True)


def test_a_hanging_server_is_killed_and_its_clients_move(pair: Pair) -> None:
    client, _ = pair.join()
    os.kill(pair.backend.process.pid, signal.SIGSTOP)
    assert_cut_off(client)
    assert pair.backend.process.wait(60) == -signal.SIGKILL
    assert "the server hangs" in pair.backend.log.read_text()
    pair.mirror.wait_until("serving")


def test_a_frozen_server_gives_up_on_its_return(pair: Pair) -> None:
    """Its watchdog is frozen with it, as by `docker pause`: for a moment both are active."""
    client, _ = pair.join()
    frozen = (pair.backend.process.pid, pair.backend.watchdog)
    for process in frozen:
        os.kill(process, signal.SIGSTOP)
    pair.mirror.wait_until("serving")
    for process in frozen:
        os.kill(process, signal.SIGCONT)
    assert_cut_off(client)
    assert pair.backend.process.wait(60) == 1
    pair.say("still here")  # the first server has removed none of the second one's sockets
