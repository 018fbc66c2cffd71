"""Webcams: pictures of a real FTP client that reach the page, and rejected ones."""

import ftplib
import io
import socket
import threading
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.address import IPv4Address
from twisted.internet.error import CannotListenError
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport

from backend.tests.fake_clients import sesame
from backend.tests.running_backend import FTP, PASSWORD, Backend, Editor, ask
from upstage.net import webcam
from upstage.net.pictures import MAX_SIZE, Pictures, Rejected
from upstage.net.webcam import UploadListener
from upstage.stage.players import Player

LARGE = b"\xff\xd8\xff\xc0\0\x11\x08\xff\xff\xff\xffpicture\xff\xd9"  # 65,535 x 65,535 pixels
JPEG = b"\xff\xd8\xff\xe0" + b"picture" * 100 + b"\xff\xd9"
RUN = """
import sys
from upstage import cli
from upstage.net import webcam
webcam.PICTURE_TIME = 1.0
sys.exit(cli.main(["serve"]))
"""


class Cameras:
    """A server, and the cameras of its players."""

    def __init__(self, folder: Path) -> None:
        self.server = Backend(folder, ["-c", RUN], UPSTAGE_ADMIN_PASSWORD=PASSWORD, **FTP)
        self.folder = self.server.media / "video"
        self._editor = Editor(self.server)
        self._numbers = count(1)

    def new_player(self, **rights: str) -> str:
        """Add a player, so that no test waits for the interval between two pictures; return the name."""
        name = f"cam{next(self._numbers)}"
        added = self._editor.post(
            "/admin/workshop/players", action="add", name=name, password="12345678", **rights
        )
        assert added.status == 302
        return name

    def login(self, name: str, password: str = "12345678") -> ftplib.FTP:
        client = ftplib.FTP()
        client.connect("127.0.0.1", self.server.port_of("WebcamFactory"), 5)
        client.login(name, password)
        return client

    def stored(self, player: str) -> list[str]:
        """Return the files stored under a player's name, all of them complete."""
        return [path.name for path in self.folder.iterdir() if player in path.name]


@pytest.fixture(scope="module")
def cameras(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cameras]:
    cameras = Cameras(tmp_path_factory.mktemp("cameras"))
    yield cameras
    cameras.server.end()


@pytest.fixture
def ann(cameras: Cameras) -> str:
    return cameras.new_player(act="yes")


def store(client: ftplib.FTP, name: str, data: bytes = JPEG) -> str:
    return client.storbinary(f"STOR {name}", io.BytesIO(data))


def test_a_picture_gets_from_the_camera_to_the_page(cameras: Cameras, ann: str) -> None:
    url = f"/media/video/{ann}.jpg"
    assert ask(cameras.server, url).status == 404
    client = cameras.login(ann)
    client.cwd("/")
    assert store(client, f"{ann}.jpg", JPEG + b"\0\0").startswith("226 ")  # some cameras pad it
    response = ask(cameras.server, url + "?s=1&u=1")
    assert (response.headers["content-type"], response.headers["cache-control"]) == ("image/jpeg", "no-store")
    assert response.body == JPEG + b"\0\0"
    fresh = JPEG.replace(b"picture", b"PICTURE")
    timer = threading.Timer(1, store, [client, f"/{ann}.jpg", fresh])
    timer.start()
    began = time.monotonic()
    assert ask(cameras.server, url + "?s=1&u=2").body == fresh
    assert time.monotonic() - began > 0.9
    timer.join()
    still = ask(cameras.server, f"/media/video-still/{ann}.jpg")
    assert (still.body, still.headers["x-cache-tags"]) == (fresh, f"media medium-video-{ann}-jpg")
    assert client.quit().startswith("221 ")
    assert cameras.stored(ann) == [f"{ann}.jpg"]


def test_three_wrong_passwords_end_the_connection(cameras: Cameras, ann: str) -> None:
    client = ftplib.FTP()
    client.connect("127.0.0.1", cameras.server.port_of("WebcamFactory"), 5)
    spectator = cameras.new_player()
    for name, password in ((ann, "wrong"), ("nobody", "12345678"), (spectator, "12345678")):
        with pytest.raises(ftplib.error_perm, match=r"^530 "):
            client.login(name, password)
    with pytest.raises((EOFError, OSError)):
        client.login(ann, "12345678")


def test_all_other_ftp_commands_are_rejected(cameras: Cameras, ann: str) -> None:
    client = cameras.login(ann)
    for command in (
        "RETR ann.jpg", "LIST", "NLST", "DELE ann.jpg", "MKD x", "RMD x", "RNFR ann.jpg", "RNTO b.jpg",
        "SIZE ann.jpg", "MDTM ann.jpg", "PORT 127,0,0,1,4,1", "EPRT |1|127.0.0.1|1025|", "APPE ann.jpg",
        "SITE CHMOD 777 ann.jpg", "STOU", "CWD ..x", "CWD /etc", "STOR ann.jpg", "CDUP",
        "NOOP x", "FEAT x", "PASV x", "STOR", "TYPE",
    ):  # fmt: skip
        with pytest.raises(ftplib.error_perm):
            client.sendcmd(command)
    assert store(client, f"{ann}.jpg").startswith("226 ")  # the connection still works
    with pytest.raises(ftplib.error_perm, match="enough"):  # a second one, immediately
        store(client, f"{ann}.jpg")


@pytest.mark.parametrize(
    "data", [b"GIF89a", JPEG[:-2], b"\xff\xd8\xff", b"", JPEG[:4] + b"x" * MAX_SIZE * 4 + JPEG[-2:], LARGE]
)
def test_invalid_pictures_are_rejected(cameras: Cameras, ann: str, data: bytes) -> None:
    client = cameras.login(ann)
    with pytest.raises((ftplib.error_perm, ConnectionError)):
        store(client, f"{ann}.jpg", data)
    assert cameras.stored(ann) == []
    time.sleep(0.05)  # a client that was cut while sending still reads the reply
    assert store(cameras.login(ann), f"{ann}.jpg").startswith("226 ")


def test_a_player_may_write_only_its_own_picture(tmp_path: Path) -> None:
    ann, chief = Player("ann", can_act=True), Player("chief", can_act=True, can_su=True)
    pictures = Pictures(tmp_path)
    pictures.allow(ann, "ann.jpg")
    pictures.allow(chief, "bob.jpg")
    for player, names in (
        (ann, ("bob.jpg", "ann.png", "../ann.jpg", "ann.jpg\0", "Ann.jpg", "")),
        (chief, ("../bob.jpg", ".bob.jpg", "bob/x.jpg", "bob.svg", "b" * 41 + ".jpg", ".jpg")),
    ):
        for name in names:
            with pytest.raises(Rejected):
                pictures.allow(player, name)


def test_an_incomplete_picture_is_never_served(cameras: Cameras, ann: str) -> None:
    client = cameras.login(ann)
    data = client.transfercmd(f"STOR {ann}.jpg")
    data.sendall(JPEG[:300])
    with pytest.raises(ftplib.error_perm, match="did not arrive"):
        client.voidresp()
    assert ask(cameras.server, f"/media/video/{ann}.jpg").status == 404
    data.close()


def test_nothing_is_read_before_stor() -> None:
    upload, transport = webcam.PictureUpload(), StringTransport()
    upload.makeConnection(transport)
    assert transport.producerState == "paused"
    upload.receive()
    assert transport.producerState == "producing"


def test_pasv_fails_while_all_ports_are_in_use() -> None:
    class Busy:
        def listenTCP(self, port: int, *_: Any, **__: Any) -> None:
            raise CannotListenError("", port, OSError())

    with pytest.raises(Rejected, match="in use"):
        UploadListener(Busy(), range(2), "127.0.0.1", "127.0.0.1")


def test_a_picture_comes_from_the_address_of_the_command_connection(cameras: Cameras, ann: str) -> None:
    client = cameras.login(ann)
    address = client.makepasv()
    with socket.create_connection(address, 5, ("127.0.0.9", 0)) as other:
        assert other.recv(1) == b""
    with socket.create_connection(address, 5) as camera:
        assert client.sendcmd(f"STOR {ann}.jpg").startswith("150 ")
        camera.sendall(JPEG)
    assert client.getresp().startswith("226 ")


class Visitors:
    """A webcam factory without sockets; any name with the password may act."""

    def __init__(self, folder: Path) -> None:
        self.clock = Clock()
        self._factory = webcam.WebcamFactory(sesame, Pictures(folder), self.clock, range(0))

    def connect(self, host: str, player: str = "") -> StringTransport:
        """Return the transport of a new session, signed in if a player is named."""
        transport = StringTransport(peerAddress=IPv4Address("TCP", host, 1))
        session = self._factory.buildProtocol(None)
        session.makeConnection(transport)
        if player:
            session.wrappedProtocol.lineReceived(f"USER {player}".encode())
            session.wrappedProtocol.lineReceived(b"PASS sesame")
            assert b"230" in transport.value()
        session.wrappedProtocol.setTimeout(None)  # its timer would be on the global reactor
        return transport


def test_idle_connections_of_one_client_shut_out_no_camera(tmp_path: Path) -> None:
    visitors = Visitors(tmp_path)
    slow = visitors.connect("192.0.2.7")
    idle = [visitors.connect("192.0.2.1") for _ in range(3 * webcam.MAX_ANONYMOUS)]
    assert sum(not one.disconnecting for one in idle) == webcam.MAX_ANONYMOUS - 1
    assert b"421" in idle[-2].value()
    camera = visitors.connect("192.0.2.2", "ann")
    assert not camera.disconnecting
    assert not slow.disconnecting


def test_a_session_that_does_not_sign_in_ends(tmp_path: Path) -> None:
    visitors = Visitors(tmp_path)
    unnamed, camera = visitors.connect("192.0.2.1"), visitors.connect("192.0.2.1", "ann")
    visitors.clock.advance(webcam.SIGN_IN_TIME)
    assert (unnamed.disconnecting, camera.disconnecting) == (True, False)


@pytest.mark.parametrize("most", [1, webcam.MAX_OF_PLAYER])
def test_a_players_oldest_session_gives_way_to_a_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(webcam, "MAX_OF_PLAYER", most)
    visitors = Visitors(tmp_path)
    bob = visitors.connect("192.0.2.1", "bob")
    own = [visitors.connect("192.0.2.1", "ann") for _ in range(most + 1)]
    assert [one.disconnecting for one in own] == [True] + [False] * most
    assert not bob.disconnecting
