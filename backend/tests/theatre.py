"""A small theatre to test with: content, templates, and a real server on ports of its own."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from http.client import HTTPConnection, HTTPMessage
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

PASSWORD = "open sesame"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
SRC = Path(__file__).parents[1] / "src"
RUN = """
import os, sys
from dataclasses import replace
from pathlib import Path
from upstage.service import serve
from upstage.settings import from_environment
settings = from_environment(os.environ)
sys.exit(serve(replace(settings, site=Path(sys.argv[1]), content=Path(sys.argv[2]))))
"""
STAGE_TOML = """
name = "Demo Stage"
splash = "Welcome & enjoy"
[colours]
page = "0x112233"
tools = "0x445566"
backdrop_and_prop = "0x778899"
chat = "0xAABBCC"
[[avatar]]
name = "Ann"
file = "ann.svg"
x = 60.0
y = 120
[[backdrop]]
name = "Wood"
file = "wood.svg"
[[prop]]
name = "Hat"
file = "hat.svg"
[[audio]]
name = "Bell"
file = "bell.mp3"
type = "sfx"
"""
TEMPLATES = {
    "index.html": "index {% for s in stages %}{{ s.id }}:{{ s.players }}/{{ s.audience }}{% endfor %}",
    "stages.html": "stages {% for s in stages %}{{ s.name }}{% endfor %}",
    "stage.html": "{{ stage.name }} {{ asset('script/main.js') }} {{ preload }} {{ modules }}",
    "login.html": "login {{ error }} csrf={{ csrf }}",
    "workshop.html": "workshop {{ player.name }} {% for s in stages %}{{ s.id }}{% endfor %} csrf={{ csrf }}",
    "log.html": "log {{ stage.id }} {% for line in lines %}[{{ line }}]{% endfor %}",
    "signup.html": "signup {{ open }} {{ error }} csrf={{ csrf }}",
    "error.html": "error {{ status }} {{ title }} {{ message }}",
}


def make_content(folder: Path) -> Path:
    demo = folder / "demo"
    (demo / "audio").mkdir(parents=True)
    (demo / "stage.toml").write_text(STAGE_TOML)
    for name in ("ann", "wood", "hat"):
        (demo / f"{name}.svg").write_text(f"<svg xmlns='http://www.w3.org/2000/svg'><!-- {name} --></svg>")
    (demo / "audio" / "bell.mp3").write_bytes(b"ID3 ding")
    return folder


def make_site(folder: Path) -> Path:
    for name, text in TEMPLATES.items():
        path = folder / "templates" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name in ("style/main.css", "script/main.js", "script/lib/wire.js", "image/favicon.svg"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"/* {name} */")
    return folder


class Server:
    """A server process with its journal; `command` is what comes after `python`."""

    def __init__(
        self, folder: Path, command: list[str], stage_endpoint: str = "tcp:0:interface=127.0.0.1", **env: str
    ) -> None:
        self.folder = folder
        self.media = folder / "media"
        self.data = folder / "data"
        self.env = os.environ | {
            "PYTHONPATH": os.pathsep.join(filter(None, [str(SRC), os.environ.get("PYTHONPATH")])),
            "UPSTAGE_DATA": str(self.data),
            "UPSTAGE_MEDIA": str(self.media),
            "UPSTAGE_WEB_ENDPOINT": "tcp:0:interface=127.0.0.1",
            "UPSTAGE_STAGE_ENDPOINT": stage_endpoint,
            "UPSTAGE_METRICS_ENDPOINT": "tcp:0:interface=127.0.0.1",
            **env,
        }
        self._journal = folder / "journal"
        with self._journal.open("wb") as journal:
            self.process = subprocess.Popen(
                [sys.executable, *command], env=self.env, stdout=journal, stderr=subprocess.STDOUT
            )
        self.wait_for(lambda: '"event": "ready"' in self._journal.read_text(), "start")
        text = self._journal.read_text()
        self.web_port = int(re.findall(r"Site starting on (\d+)", text)[0])
        self.stage_port = int(re.findall(r"StageSocketFactory.* starting on (\d+)", text)[0])

    def lines(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self._journal.read_text().splitlines()]

    def journal(self, event: str) -> list[dict[str, object]]:
        return [line for line in self.lines() if line["event"] == event]

    def wait_for(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + 10
        while not condition():
            assert self.process.poll() is None, self._journal.read_text()
            assert time.monotonic() < deadline, f"no {what}:\n{self._journal.read_text()}"
            time.sleep(0.02)

    def connect(self) -> "Client":
        return Client(socket.create_connection(("127.0.0.1", self.stage_port), 5))

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(10)


class Answer(NamedTuple):
    status: int
    headers: HTTPMessage
    body: bytes


def ask(server: Server, path: str, method: str = "GET", body: bytes | None = None, **headers: str) -> Answer:
    connection = HTTPConnection("127.0.0.1", server.web_port, timeout=5)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body, named)
    response = connection.getresponse()
    answer = Answer(response.status, response.headers, response.read())
    connection.close()
    return answer


class Maker:
    """A browser, as far as the workshop is concerned: a cookie, and the token of the page it has open."""

    def __init__(self, server: Server, name: str = "admin", password: str = PASSWORD) -> None:
        self.server = server
        body = urlencode({"username": name, "password": password}).encode()
        answer = ask(server, "/admin/login", "POST", body, **FORM)
        assert answer.status == 302, answer.body
        self.cookie = answer.headers["Set-Cookie"].partition(";")[0]
        self.csrf = token_in(self.get("/admin/").body)

    def get(self, path: str) -> Answer:
        return ask(self.server, path, Cookie=self.cookie)

    def post(self, path: str, **fields: str) -> Answer:
        body = urlencode({"csrf": self.csrf, **fields}).encode()
        return ask(self.server, path, "POST", body, Cookie=self.cookie, **FORM)

    def upload(self, path: str, data: bytes, **fields: str) -> Answer:
        body = multipart({"csrf": self.csrf, **fields}, data)
        return ask(self.server, path, "POST", body, Cookie=self.cookie, Content_Type=MULTIPART)


MULTIPART = "multipart/form-data; boundary=the-seam"


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


class Cache:
    """Something that listens for PURGE as Varnish does."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.asked: list[str] = []
        self.status = "200 Purged"
        threading.Thread(target=self._serve, daemon=True).start()

    def hear(self, purge: str) -> None:
        self.asked.append(purge)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                request = connection.recv(65536).decode()
                tag = re.search(r"\r\nX-Tag: (\S+)\r\n", request, re.IGNORECASE)
                self.hear(f"{request.split(' HTTP/')[0]} {tag[1] if tag else ''}")
                connection.sendall(f"HTTP/1.1 {self.status}\r\nContent-Length: 2\r\n\r\nok".encode())


DRAWING = b"<svg xmlns='http://www.w3.org/2000/svg'><!-- %s --></svg>"


def bring(maker: Maker, name: str, kind: str = "prop", data: bytes | None = None) -> str:
    """Upload a file; return its path below /media."""
    answer = maker.upload(
        "/admin/workshop/media", DRAWING % name.encode() if data is None else data, name=name, kind=kind
    )
    assert answer.status == 302, answer.body
    found = re.search(r"/admin/workshop/media/([^?]+)\?said=made$", answer.headers["Location"])
    assert found
    return found[1]


class Client:
    """A raw TCP client of the stage socket."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self._buffer = b""

    def send(self, *frames: bytes) -> None:
        self.socket.sendall(b"".join(frame + b"\0" for frame in frames))

    def receive(self) -> bytes:
        """Return the next frame; raise EOFError if the server has closed."""
        while b"\0" not in self._buffer:
            piece = self.socket.recv(65536)
            if not piece:
                raise EOFError
            self._buffer += piece
        frame, self._buffer = self._buffer.split(b"\0", 1)
        return frame

    def until(self, ending: bytes) -> list[bytes]:
        """Return frames up to the first that ends so."""
        frames = [self.receive()]
        while not frames[-1].endswith(ending):
            frames.append(self.receive())
        return frames

    def join(self, key: bytes = b"none") -> list[bytes]:
        self.send(b"MD5=" + key + b"&mode=IDENT", b"stage_ID=demo&mode=JOIN")
        return self.until(b"&mode=JOINED")

    def close(self) -> None:
        self.socket.close()
