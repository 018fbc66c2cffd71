"""Webcam frames: who is held and for how long, and the FTP door with a real client."""

import ftplib
import io
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest
from twisted.internet.task import Clock

from theatre import SRC, make_site
from upstage import webcam
from upstage.members import Player
from upstage.web import webcam as held
from upstage.web.webcam import EXAMINE, Frames
from upstage.webcam import Pictures, Refused

JPEG = b"\xff\xd8\xff\xe0" + b"picture" * 100 + b"\xff\xd9"
START = 1_800_000_000


class Camera:
    """A folder with one camera's file, dated by a fake clock."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = Clock()
        self.frames = Frames(folder, self.clock, now=lambda: START + self.clock.seconds())

    def shoot(self, name: str = "ann.jpg") -> None:
        new = self.folder / "new"
        new.write_bytes(JPEG)
        stamp = START + self.clock.seconds()
        os.utime(new, (stamp, stamp))
        new.replace(self.folder / name)

    def ask(self, viewer: str, name: str = "ann.jpg") -> list[float]:
        """Ask for a frame; the list is empty until it has come, then it tells when."""
        came: list[float] = []
        began = self.clock.seconds()
        ready = self.frames.next(name, viewer)
        ready.addCallback(lambda _: came.append(round(self.clock.seconds() - began, 2)))
        return came

    def wait(self, seconds: float) -> None:
        for _ in range(round(seconds * 100)):
            self.clock.advance(0.01)


@pytest.fixture
def camera(tmp_path: Path) -> Camera:
    camera = Camera(tmp_path)
    camera.shoot()
    return camera


def test_at_once_without_a_viewer_for_a_new_one_and_for_a_missing_frame(camera: Camera) -> None:
    for _ in range(2):
        assert camera.ask("") == [0]
        assert camera.ask("v", "nobody.jpg") == [0]
    assert camera.ask("one") == [0]
    assert camera.ask("two") == [0]
    assert camera.frames.held == 0


def test_held_until_the_frame_changes(camera: Camera) -> None:
    camera.ask("one")
    came = camera.ask("one")
    camera.wait(3)
    assert came == []
    camera.shoot()
    camera.wait(EXAMINE)
    assert 3 < came[0] <= 3 + EXAMINE
    assert camera.frames.held == 0


def test_held_until_the_frame_is_30_seconds_old(camera: Camera) -> None:
    camera.ask("one")
    came = camera.ask("one")
    camera.wait(30)
    assert came == []
    camera.wait(EXAMINE)
    assert 30 < came[0] <= 30 + EXAMINE
    assert camera.ask("one") == [0]  # and now nobody is held


def test_at_once_if_it_changed_in_between(camera: Camera) -> None:
    camera.ask("one")
    camera.shoot()  # within the same tick: only the inode tells
    assert camera.ask("one") == [0]
    assert camera.ask("one") == []


def test_a_file_that_disappears_holds_nobody(camera: Camera) -> None:
    camera.ask("one")
    came = camera.ask("one")
    (camera.folder / "ann.jpg").unlink()
    camera.wait(EXAMINE + 0.01)
    assert len(came) == 1


def test_who_leaves_is_not_held(camera: Camera) -> None:
    camera.ask("one")
    waiting = camera.frames.next("ann.jpg", "one")
    waiting.addErrback(lambda _: None)
    waiting.cancel()
    assert camera.frames.held == 0
    camera.wait(1)
    assert camera.clock.getDelayedCalls() == []


def test_bounds(camera: Camera, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held, "MAX_HELD", 3)
    monkeypatch.setattr(held, "MAX_VIEWERS", 4)
    for viewer in "abcd":
        camera.ask(viewer)
    assert [camera.ask(viewer) for viewer in "abcd"] == [[], [], [], [0]]
    camera.ask("e")  # pushes `a` out
    camera.shoot()
    camera.wait(EXAMINE + 0.01)
    assert camera.ask("a") == []
    assert camera.ask("e") == [0]


def test_whose_picture_it_is(tmp_path: Path) -> None:
    now = 0.0
    pictures = Pictures(tmp_path, lambda: now)
    ann = Player("ann", can_act=True)
    pictures.allow(ann, "ann.jpg")
    for name in ("bob.jpg", "ann.png", "../ann.jpg", "ann.jpg\0", "Ann.jpg", ""):
        with pytest.raises(Refused):
            pictures.allow(ann, name)
    chief = Player("chief", can_act=True, can_su=True)
    pictures.allow(chief, "bob.jpg")
    for name in ("../bob.jpg", ".bob.jpg", "bob/x.jpg", "bob.svg", "b" * 41 + ".jpg", ".jpg"):
        with pytest.raises(Refused):
            pictures.allow(chief, name)


def test_only_whole_jpegs_and_not_too_often(tmp_path: Path) -> None:
    now = 0.0
    told: list[tuple[str, str, int]] = []
    pictures = Pictures(tmp_path, lambda: now, lambda *picture: told.append(picture))
    ann = Player("ann", can_act=True)
    for data in (b"", JPEG[:-1], b"GIF89a" + JPEG, b"\xff\xd8\xff"):
        with pytest.raises(Refused):
            pictures.take(ann, "ann.jpg", data)
    assert list(tmp_path.iterdir()) == []
    pictures.allow(ann, "ann.jpg")
    pictures.take(ann, "ann.jpg", JPEG + b"\0\0")
    assert (tmp_path / "ann.jpg").read_bytes() == JPEG + b"\0\0"
    assert told == [("ann.jpg", "ann", len(JPEG) + 2)]
    with pytest.raises(Refused):
        pictures.allow(ann, "ann.jpg")
    now += webcam.MIN_INTERVAL
    pictures.allow(ann, "ann.jpg")


SERVER = """
import sys
from pathlib import Path
from twisted.internet import reactor
from upstage import webcam
from upstage.members import Player
from upstage.web.templates import Pages
from upstage.web.request import Node, Site
from upstage.web.webcam import Frames, WebcamFolder
site, folder, ports, limit = sys.argv[1:]
webcam.UPLOAD_TIME = float(limit)
folder = Path(folder)

async def check(name, password, address):
    assert address == "127.0.0.1"
    players = {"ann": Player("ann", can_act=True), "eve": Player("eve")}
    return players.get(name) if password == "sesame" else None

pictures = webcam.Pictures(folder)
first, last = map(int, ports.split("-"))
door = webcam.WebcamFactory(check, pictures, reactor, range(first, last + 1))
pages = Pages(Path(site))
root = Node(pages)
root.putChild(b"video", WebcamFolder(pages, Frames(folder, reactor)))
ftp = reactor.listenTCP(0, door, interface="127.0.0.1")
web = reactor.listenTCP(0, Site(root, pages), interface="127.0.0.1")
reactor.callWhenRunning(lambda: print(ftp.getHost().port, web.getHost().port, flush=True))
reactor.run()
print(sorted(pictures.outcomes.items()))
"""


class Door:
    """A process with the FTP door and the frames' URL."""

    def __init__(self, folder: Path, ports: str = "0-0", limit: float = 20) -> None:
        self.folder = folder / "video"
        self.folder.mkdir()
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                SERVER,
                str(make_site(folder / "site")),
                str(self.folder),
                ports,
                str(limit),
            ],
            env=os.environ | {"PYTHONPATH": str(SRC)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self.process.stdout
        self.port, self.web_port = map(int, self.process.stdout.readline().split())

    def login(self, name: str = "ann", password: str = "sesame") -> ftplib.FTP:
        client = ftplib.FTP()
        client.connect("127.0.0.1", self.port, 5)
        client.login(name, password)
        return client

    def get(self, path: str) -> tuple[int, dict[str, str], bytes]:
        connection = HTTPConnection("127.0.0.1", self.web_port, timeout=10)
        connection.request("GET", path)
        response = connection.getresponse()
        answer = response.status, dict(response.headers), response.read()
        connection.close()
        return answer

    def stop(self) -> str:
        """Return what it has counted; it must have complained about nothing."""
        self.process.terminate()
        out, errors = self.process.communicate(timeout=10)
        assert errors == b""
        return out.decode()


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    door = Door(tmp_path)
    yield door
    if door.process.returncode is None:
        door.stop()


def store(client: ftplib.FTP, name: str = "ann.jpg", data: bytes = JPEG) -> str:
    return client.storbinary(f"STOR {name}", io.BytesIO(data))


def test_from_the_camera_to_the_page(door: Door) -> None:
    assert door.get("/video/ann.jpg")[0] == 404
    client = door.login()
    client.cwd("/")
    assert store(client).startswith("226 ")
    status, headers, body = door.get("/video/ann.jpg?s=1&u=1")
    assert (status, headers["Content-Type"], headers["Cache-Control"]) == (200, "image/jpeg", "no-store")
    assert body == JPEG
    fresh = JPEG.replace(b"picture", b"PICTURE")
    timer = threading.Timer(1, store, [client, "/ann.jpg", fresh])
    timer.start()
    began = time.monotonic()
    assert door.get("/video/ann.jpg?s=1&u=2")[2] == fresh
    assert time.monotonic() - began > 0.9
    timer.join()
    assert client.quit().startswith("221 ")
    assert [path.name for path in door.folder.iterdir()] == ["ann.jpg"]
    assert door.stop() == "[('refused', 0), ('stored', 2)]\n"


@pytest.mark.parametrize(
    ("path", "status"),
    [("ann.png", 403), ("ann", 403), ("", 404), ("../x.jpg", 404), (".ann.jpg", 404), ("a/b.jpg", 404)],
)
def test_only_jpegs_are_served(door: Door, path: str, status: int) -> None:
    assert door.get(f"/video/{path}")[0] == status


@pytest.mark.parametrize(("name", "password"), [("ann", "wrong"), ("bob", "sesame"), ("eve", "sesame")])
def test_who_may_not_act_may_not_sign_in(door: Door, name: str, password: str) -> None:
    with pytest.raises(ftplib.error_perm, match=r"^530 "):
        door.login(name, password)


def test_guessing_ends_the_connection(door: Door) -> None:
    client = ftplib.FTP()
    client.connect("127.0.0.1", door.port, 5)
    for _ in range(webcam.MAX_FAILURES):
        with pytest.raises(ftplib.error_perm, match=r"^530 "):
            client.login("ann", "wrong")
    with pytest.raises((EOFError, OSError)):
        client.login("ann", "sesame")


@pytest.mark.parametrize(
    "command",
    [
        "RETR ann.jpg", "LIST", "NLST", "DELE ann.jpg", "MKD x", "RMD x", "RNFR ann.jpg", "RNTO b.jpg",
        "SIZE ann.jpg", "MDTM ann.jpg", "PORT 127,0,0,1,4,1", "EPRT |1|127.0.0.1|1025|", "APPE ann.jpg",
        "SITE CHMOD 777 ann.jpg", "STOU", "CWD ..x", "CWD /etc", "STOR ann.jpg", "CDUP",
    ],
)  # fmt: skip
def test_everything_else_of_ftp_is_refused(door: Door, command: str) -> None:
    client = door.login()
    with pytest.raises(ftplib.error_perm):
        client.sendcmd(command)
    assert store(client).startswith("226 ")  # nobody minds


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("bob.jpg", JPEG),
        ("../ann.jpg", JPEG),
        ("ann.jpg", b"GIF89a"),
        ("ann.jpg", JPEG[:-2]),
        ("ann.jpg", b""),
        ("ann.jpg", JPEG[:4] + b"x" * webcam.MAX_SIZE * 4 + JPEG[-2:]),
    ],
)
def test_what_is_no_picture_is_refused(door: Door, name: str, data: bytes) -> None:
    client = door.login()
    with pytest.raises((ftplib.error_perm, ConnectionError)):
        store(client, name, data)
    assert list(door.folder.iterdir()) == []
    time.sleep(0.05)  # for a client that was cut while sending, the answer is still to be read
    assert store(door.login()).startswith("226 ")
    assert door.stop() == "[('refused', 1), ('stored', 1)]\n"


def test_two_pictures_at_once_are_one_too_many(door: Door) -> None:
    client = door.login()
    store(client)
    with pytest.raises(ftplib.error_perm, match="enough"):
        store(client)


def test_half_a_picture_is_never_seen(door: Door) -> None:
    client = door.login()
    data = client.transfercmd("STOR ann.jpg")
    data.sendall(JPEG[:300])
    time.sleep(0.1)
    assert door.get("/video/ann.jpg")[0] == 404
    client.close()  # the camera is unplugged
    data.close()
    time.sleep(0.1)
    assert list(door.folder.iterdir()) == []


def test_a_picture_that_does_not_come(tmp_path: Path) -> None:
    door = Door(tmp_path, limit=0.3)
    client = door.login()
    data = client.transfercmd("STOR ann.jpg")
    data.sendall(JPEG[:300])
    with pytest.raises(ftplib.error_perm, match="must be here"):
        client.voidresp()
    data.close()
    client.makepasv()
    assert client.sendcmd("STOR ann.jpg").startswith("150 ")
    with pytest.raises(ftplib.error_perm, match="must be here"):
        client.voidresp()
    door.stop()


def test_nothing_is_read_before_it_is_asked_for(door: Door) -> None:
    client = door.login()
    host, port = client.makepasv()
    with socket.create_connection((host, port), 5) as data:
        data.settimeout(0.5)
        with pytest.raises(TimeoutError):
            data.sendall(b"x" * 100_000_000)


def test_ports_that_are_all_in_use(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        door = Door(tmp_path, f"{port}-{port}")
        client = door.login()
        with pytest.raises(ftplib.error_perm, match="in use"):
            client.makepasv()
    assert store(client).startswith("226 ")
    door.stop()
