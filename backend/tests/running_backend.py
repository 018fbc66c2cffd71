"""A real backend process on its own ports, and the clients of its pages."""

import json
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import parse_qs, urlencode

from backend.tests.forked import SRC, Forked, run_upstage
from tests.support import http
from tests.support.http import Response
from tests.support.origin import Origin, Request, response
from tests.support.program import Program
from tests.support.stage_client import StageClient, WebStageClient

PASSWORD = "open sesame"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
FTP = {"UPSTAGE_FTP_ENDPOINT": "tcp:0:interface=127.0.0.1", "UPSTAGE_FTP_PASSIVE": "0-0"}
RARELY = 3600.0  # seconds between heartbeats: tests read frame by frame


def serve(heartbeat: float) -> list[str]:
    """Return the command for a server with a heartbeat of that many seconds."""
    start = "import sys; from upstage import cli, service"
    return ["-c", f"{start}; service.HEARTBEAT = {heartbeat}; sys.exit(cli.main(['serve']))"]


SERVE = serve(RARELY)


def environment(folder: Path, stage_endpoint: str, **env: str) -> dict[str, str]:
    """Return the settings of a server on free ports, with its data and media in a folder."""
    return os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, [str(SRC), os.environ.get("PYTHONPATH")])),
        "UPSTAGE_DATA": str(folder / "data"),
        "UPSTAGE_MEDIA": str(folder / "media"),
        "UPSTAGE_WEB_ENDPOINT": "tcp:0:interface=127.0.0.1",
        "UPSTAGE_STAGE_ENDPOINT": stage_endpoint,
        "UPSTAGE_METRICS_ENDPOINT": "tcp:0:interface=127.0.0.1",
        "UPSTAGE_FESTIVAL": "off",
        **env,
    }


class Backend(Program):
    """A backend process and its log; `command` is the command line after `python`.

    The process is `forked`, or a new interpreter, as an operator starts it.
    """

    def __init__(
        self,
        folder: Path,
        command: Sequence[str] = SERVE,
        stage_endpoint: str = "tcp:0:interface=127.0.0.1",
        forked: bool = True,
        **env: str,
    ) -> None:
        self.folder = folder
        self.media = folder / "media"
        self.data = folder / "data"
        self.env = environment(folder, stage_endpoint, **env)
        if forked:
            self.log = folder / "log"
            self.process = Forked(command, self.env, self.log)
        else:
            super().__init__([sys.executable, *command], self.env, folder / "log")
        self.wait_for(lambda: '"event": "ready"' in self.log.read_text())
        self.web_port = self.port_of("Site")
        self.stage_port = self.port_of("StageSocketFactory")

    def port_of(self, factory: str) -> int:
        """Return the port of a listener, from Twisted's line about it."""
        return int(re.findall(rf"\b{factory}\b.* starting on (\d+)", self.log.read_text())[0])

    def lines(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    def logged(self, event: str) -> list[dict[str, object]]:
        return [line for line in self.lines() if line["event"] == event]

    def end(self) -> None:
        """Stop the server; require that it has logged no unexpected failure."""
        assert self.stop() == 0
        assert not self.logged("Unhandled Error")
        assert not self.logged("a request failed")

    def connect(self) -> StageClient:
        return StageClient(("127.0.0.1", self.stage_port))

    def on_stage(self, stage: bytes = b"demo", key: bytes = b"none") -> StageClient:
        """Return a client that has joined a stage."""
        client = self.connect()
        join(client, key, stage)
        return client

    def connect_web(self) -> WebStageClient:
        return WebStageClient(self.web_port)

    def upstage(self, *words: str, stdin: str = "", **env: str) -> tuple[int, str, str]:
        """Run `upstage WORDS` beside the server, with its real ports; return status, output and errors."""
        proxy = "haproxy:" if self.env["UPSTAGE_STAGE_ENDPOINT"].startswith("haproxy") else ""
        ports = {
            "UPSTAGE_WEB_ENDPOINT": f"tcp:{self.web_port}:interface=127.0.0.1",
            "UPSTAGE_STAGE_ENDPOINT": f"{proxy}tcp:{self.stage_port}",
            "UPSTAGE_METRICS_ENDPOINT": f"tcp:{self.port_of('MetricsSite')}:interface=127.0.0.1",
        }
        return run_upstage(*words, env=self.env | ports | env, stdin=stdin)


def ask(backend: Backend, path: str, method: str = "GET", body: bytes = b"", **headers: str) -> Response:
    """Send one HTTP request to a backend; return the response."""
    host = headers.pop("Host", "localhost")
    return http.request(("127.0.0.1", backend.web_port), path, host, method, body, **headers)


def join(client: StageClient, key: bytes = b"none", stage: bytes = b"demo") -> list[bytes]:
    """Join a stage without loading it; return the frames up to JOINED."""
    client.send_frames(b"MD5=" + key + b"&mode=IDENT", b"stage_ID=" + stage + b"&mode=JOIN")
    return client.frames_until(b"&mode=JOINED")


def opened(backend: Backend, path: str) -> tuple[str, str]:
    """Open a page with a form; return its cookie and its token."""
    page = ask(backend, path)
    return page.headers["set-cookie"].partition(";")[0], token_in(page.body)


class Editor:
    """A browser of a player who may edit stages: a cookie, and the token of the page that is open."""

    def __init__(self, backend: Backend, name: str = "admin", password: str = PASSWORD) -> None:
        self.backend = backend
        body = urlencode({"username": name, "password": password}).encode()
        redirect = ask(backend, "/admin/login", "POST", body, **FORM)
        assert redirect.status == 302, redirect.body
        self.cookie = redirect.headers["set-cookie"].partition(";")[0]
        self.csrf = token_in(self.get("/admin/").body)

    @property
    def key(self) -> bytes:
        """Return a new key for a stage connection of this player."""
        return parse_qs(self.get("/admin/id").body)[b"key"][0]

    def get(self, path: str) -> Response:
        return ask(self.backend, path, Cookie=self.cookie)

    def post(self, path: str, **fields: str) -> Response:
        body = urlencode({"csrf": self.csrf, **fields}).encode()
        return ask(self.backend, path, "POST", body, Cookie=self.cookie, **FORM)

    def upload(self, path: str, data: bytes, **fields: str) -> Response:
        body = multipart({"csrf": self.csrf, **fields}, data)
        return ask(self.backend, path, "POST", body, Cookie=self.cookie, Content_Type=MULTIPART)

    def bring(self, name: str, kind: str = "prop", data: bytes = b"") -> str:
        """Upload a new file; return its path below /media."""
        redirect = self.upload("/admin/workshop/media", data or DRAWING % name.encode(), name=name, kind=kind)
        assert redirect.status == 302, redirect.body
        found = re.search(r"/admin/workshop/media/([^?]+)\?said=made$", redirect.headers["location"])
        assert found
        return found[1]


MULTIPART = "multipart/form-data; boundary=the-seam"
DRAWING = b"<svg xmlns='http://www.w3.org/2000/svg'><!-- %s --></svg>"


def multipart(fields: dict[str, str], data: bytes) -> bytes:
    parts = [
        f'--the-seam\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in fields.items()
    ]
    file = b'--the-seam\r\nContent-Disposition: form-data; name="file"; filename="../../etc/x.png"\r\n\r\n'
    return b"".join(parts) + file + data + b"\r\n--the-seam--\r\n"


def token_in(page: bytes) -> str:
    found = re.search(rb'(?:csrf=|name="csrf" value=")([0-9a-f]{64})', page)
    assert found, page
    return found[1].decode()


class PurgedCache(Origin):
    """A cache's listener for PURGE; `status` is its response."""

    def __init__(self) -> None:
        super().__init__("cache")
        self.status = "200 Purged"
        self.respond = self.purge

    def forget_requests(self) -> None:
        self.requests.clear()

    def purge(self, request: Request) -> bytes:
        return response("ok", self.status)

    @property
    def tags(self) -> list[str]:
        """The purged tags, in order."""
        assert all((request.method, request.target) == ("PURGE", "/") for request in self.requests)
        return [request.headers["x-cache-tags"] for request in self.requests]
