"""The webcam listener with a real FTP client: pictures that reach the page, and rejected ones."""

import ftplib
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from twisted.internet.address import IPv4Address
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport

from running_webcam_listener import JPEG, WebcamListener, store
from upstage.net import webcam
from upstage.stage.players import Player


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[WebcamListener]:
    listener = WebcamListener(tmp_path)
    yield listener
    if listener.process.poll() is None:
        listener.stop()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebcamListener]:
    """For tests that store no picture."""
    listener = WebcamListener(tmp_path_factory.mktemp("shared"))
    yield listener
    listener.stop()


def test_a_picture_gets_from_the_camera_to_the_page(listener: WebcamListener) -> None:
    assert listener.get("/video/ann.jpg")[0] == 404
    client = listener.login()
    client.cwd("/")
    assert store(client).startswith("226 ")
    status, headers, body = listener.get("/video/ann.jpg?s=1&u=1")
    assert (status, headers["content-type"], headers["cache-control"]) == (200, "image/jpeg", "no-store")
    assert body == JPEG
    fresh = JPEG.replace(b"picture", b"PICTURE")
    timer = threading.Timer(1, store, [client, "/ann.jpg", fresh])
    timer.start()
    began = time.monotonic()
    assert listener.get("/video/ann.jpg?s=1&u=2")[2] == fresh
    assert time.monotonic() - began > 0.9
    timer.join()
    assert client.quit().startswith("221 ")
    assert [path.name for path in listener.folder.iterdir()] == ["ann.jpg"]
    assert listener.stop() == "[('rejected', 0), ('stored', 2)]\n"


@pytest.mark.parametrize(
    ("path", "status"),
    [("ann.png", 403), ("ann", 403), ("", 404), ("../x.jpg", 404), (".ann.jpg", 404), ("a/b.jpg", 404)],
)
def test_only_jpegs_are_served(shared: WebcamListener, path: str, status: int) -> None:
    assert shared.get(f"/video/{path}")[0] == status


@pytest.mark.parametrize(("name", "password"), [("ann", "wrong"), ("bob", "sesame"), ("eve", "sesame")])
def test_players_without_the_right_to_act_may_not_sign_in(
    shared: WebcamListener, name: str, password: str
) -> None:
    with pytest.raises(ftplib.error_perm, match=r"^530 "):
        shared.login(name, password)


def test_three_wrong_passwords_end_the_connection(shared: WebcamListener) -> None:
    client = ftplib.FTP()
    client.connect("127.0.0.1", shared.port, 5)
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
def test_all_other_ftp_commands_are_rejected(listener: WebcamListener, command: str) -> None:
    client = listener.login()
    with pytest.raises(ftplib.error_perm):
        client.sendcmd(command)
    assert store(client).startswith("226 ")  # the connection still works


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
def test_invalid_pictures_are_rejected(listener: WebcamListener, name: str, data: bytes) -> None:
    client = listener.login()
    with pytest.raises((ftplib.error_perm, ConnectionError)):
        store(client, name, data)
    assert list(listener.folder.iterdir()) == []
    time.sleep(0.05)  # a client that was cut while sending still reads the reply
    assert store(listener.login()).startswith("226 ")
    assert listener.stop() == "[('rejected', 1), ('stored', 1)]\n"


def test_a_second_picture_within_half_a_second_is_rejected(listener: WebcamListener) -> None:
    client = listener.login()
    store(client)
    with pytest.raises(ftplib.error_perm, match="enough"):
        store(client)


def test_an_incomplete_picture_is_never_served(listener: WebcamListener) -> None:
    client = listener.login()
    data = client.transfercmd("STOR ann.jpg")
    data.sendall(JPEG[:300])
    time.sleep(0.1)
    assert listener.get("/video/ann.jpg")[0] == 404
    client.close()  # the camera is unplugged
    data.close()
    time.sleep(0.1)
    assert list(listener.folder.iterdir()) == []


def test_a_picture_that_does_not_arrive_in_time_is_rejected(tmp_path: Path) -> None:
    listener = WebcamListener(tmp_path, limit=0.3)
    client = listener.login()
    data = client.transfercmd("STOR ann.jpg")
    data.sendall(JPEG[:300])
    with pytest.raises(ftplib.error_perm, match="did not arrive"):
        client.voidresp()
    data.close()
    client.makepasv()
    assert client.sendcmd("STOR ann.jpg").startswith("150 ")
    with pytest.raises(ftplib.error_perm, match="did not arrive"):
        client.voidresp()
    listener.stop()


def test_nothing_is_read_before_stor(shared: WebcamListener) -> None:
    client = shared.login()
    host, port = client.makepasv()
    with socket.create_connection((host, port), 5) as data:
        data.settimeout(0.5)
        with pytest.raises(TimeoutError):
            data.sendall(b"x" * 100_000_000)


def test_pasv_fails_while_all_ports_are_in_use(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        listener = WebcamListener(tmp_path, f"{port}-{port}")
        client = listener.login()
        with pytest.raises(ftplib.error_perm, match="in use"):
            client.makepasv()
    assert store(client).startswith("226 ")
    listener.stop()


def test_a_picture_comes_from_the_address_of_the_command_connection(listener: WebcamListener) -> None:
    client = listener.login()
    address = client.makepasv()
    with socket.create_connection(address, 5, ("127.0.0.9", 0)) as other:
        assert other.recv(1) == b""
    with socket.create_connection(address, 5) as camera:
        assert client.sendcmd("STOR ann.jpg").startswith("150 ")
        camera.sendall(JPEG)
    assert client.getresp().startswith("226 ")


class Visitors:
    """A webcam factory without sockets; everybody who knows the password may act."""

    def __init__(self, folder: Path) -> None:
        async def check(name: str, password: str, address: str) -> Player | None:
            return Player(name, can_act=True) if password == "sesame" else None

        self.clock = Clock()
        self._factory = webcam.WebcamFactory(check, webcam.Pictures(folder), self.clock, range(0))

    def connect(self, host: str, player: str = "") -> StringTransport:
        """Return the transport of a new session, signed in if a player is named."""
        transport = StringTransport(peerAddress=IPv4Address("TCP", host, 1))
        session = self._factory.buildProtocol(None)
        session.makeConnection(transport)
        if player:
            session.wrappedProtocol.lineReceived(f"USER {player}".encode())
            session.wrappedProtocol.lineReceived(b"PASS sesame")
            assert b"230" in transport.value()
        session.wrappedProtocol.setTimeout(None)  # it would be on the global reactor
        return transport


def test_idle_connections_of_one_client_shut_out_no_camera(tmp_path: Path) -> None:
    visitors = Visitors(tmp_path)
    slow = visitors.connect("192.0.2.7")
    idle = [visitors.connect("192.0.2.1") for _ in range(3 * webcam.MAX_STRANGERS)]
    assert sum(not one.disconnecting for one in idle) == webcam.MAX_STRANGERS - 1
    assert b"421" in idle[-2].value()
    camera = visitors.connect("192.0.2.2", "ann")
    assert not camera.disconnecting
    assert not slow.disconnecting


def test_a_session_that_does_not_sign_in_ends(tmp_path: Path) -> None:
    visitors = Visitors(tmp_path)
    stranger, camera = visitors.connect("192.0.2.1"), visitors.connect("192.0.2.1", "ann")
    visitors.clock.advance(webcam.SIGN_IN_TIME)
    assert (stranger.disconnecting, camera.disconnecting) == (True, False)


def test_a_players_oldest_session_gives_way_to_a_new_one(tmp_path: Path) -> None:
    visitors = Visitors(tmp_path)
    bob = visitors.connect("192.0.2.1", "bob")
    own = [visitors.connect("192.0.2.1", "ann") for _ in range(webcam.MAX_OF_PLAYER + 1)]
    assert [one.disconnecting for one in own] == [True] + [False] * webcam.MAX_OF_PLAYER
    assert not bob.disconnecting
