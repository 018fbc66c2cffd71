"""A process with the webcam's FTP listener and the URL of the frames."""

import ftplib
import io
import os
import re
from pathlib import Path

from forked import Forked
from running_backend import make_site
from support.http import request
from support.wait import wait_until

JPEG = b"\xff\xd8\xff\xe0" + b"picture" * 100 + b"\xff\xd9"

SERVER = """
import sys
from pathlib import Path
from twisted.internet import reactor
from upstage.net import webcam
from upstage.stage.players import Player
from upstage.web.templates import Pages
from upstage.net.slices import Slices
from upstage.web.request import Node, Site
from upstage.web.webcam import Frames, WebcamFolder
site, folder, ports, limit = sys.argv[1:]
webcam.PICTURE_TIME = float(limit)
folder = Path(folder)

async def check(name, password, address):
    assert address == "127.0.0.1"
    players = {"ann": Player("ann", can_act=True), "eve": Player("eve")}
    return players.get(name) if password == "sesame" else None

pictures = webcam.Pictures(folder)
first, last = map(int, ports.split("-"))
factory = webcam.WebcamFactory(check, pictures, reactor, range(first, last + 1))
pages = Pages(Path(site))
root = Node(pages)
root.putChild(b"video", WebcamFolder(pages, Frames(folder, reactor)))
ftp = reactor.listenTCP(0, factory, interface="127.0.0.1")
web = reactor.listenTCP(0, Site(root, pages, Slices(reactor)), interface="127.0.0.1")
reactor.callWhenRunning(lambda: print(ftp.getHost().port, web.getHost().port, flush=True))
reactor.run()
print(sorted(pictures.outcomes.items()))
"""


class WebcamListener:
    """A process with the FTP listener and the URL of the frames."""

    def __init__(self, folder: Path, ports: str = "0-0", limit: float = 20) -> None:
        self.folder = folder / "video"
        self.folder.mkdir()
        self._out, self._errors = folder / "stdout", folder / "stderr"
        command = ["-c", SERVER, str(make_site(folder / "site")), str(self.folder), ports, str(limit)]
        self.process = Forked(command, os.environ, self._out, self._errors)
        ports = wait_until(lambda: re.findall(r"^(\d+) (\d+)\n", self._out.read_text()), every=0.02)
        self.port, self.web_port = map(int, ports[0])

    def login(self, name: str = "ann", password: str = "sesame") -> ftplib.FTP:
        client = ftplib.FTP()
        client.connect("127.0.0.1", self.port, 5)
        client.login(name, password)
        return client

    def get(self, path: str) -> tuple[int, dict[str, str], bytes]:
        answer = request(("127.0.0.1", self.web_port), path)
        return answer.status, answer.headers, answer.body

    def stop(self) -> str:
        """Stop; return the counts. Nothing may be on standard error."""
        self.process.terminate()
        assert self.process.wait(10) == 0
        assert self._errors.read_text() == ""
        return self._out.read_text().partition("\n")[2]


def store(client: ftplib.FTP, name: str = "ann.jpg", data: bytes = JPEG) -> str:
    return client.storbinary(f"STOR {name}", io.BytesIO(data))
