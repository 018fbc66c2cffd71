"""Random commands and pictures for the webcam listener: no error, and only a player's own JPEG is stored."""

import re
import tempfile
from itertools import count
from pathlib import Path
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st
from twisted.internet import reactor as global_reactor
from twisted.internet.address import IPv4Address
from twisted.internet.error import ConnectionDone
from twisted.internet.testing import MemoryReactorClock, StringTransport
from twisted.python.failure import Failure

from many_examples import EXAMPLES, holds
from upstage.net.pictures import Pictures, is_jpeg
from upstage.net.webcam import PICTURE_TIME, Session, WebcamFactory
from upstage.stage.players import Player

JPEG = b"\xff\xd8\xff\xe0picture\xff\xd9"
CAMERA = IPv4Address("TCP", "192.0.2.1", 4711)
SIGN_IN = b"USER ann\r\nPASS sesame\r\n"

VERBS = [*sorted(Session.COMMANDS), "user", "RETR", "LIST", "PORT", "APPE", "DELE", "RNFR", "SITE", ""]
ARGUMENTS = [
    "",
    "ann",
    "sesame",
    "ann.jpg",
    "/ann.jpg",
    "../ann.jpg",
    "bob.jpg",
    "/",
    "..",
    "I",
    "A",
    "S",
    "2",
    "ALL",
]
COMMANDS = st.builds(
    lambda verb, argument, end: f"{verb} {argument}".encode("utf-8", "replace") + end,
    st.sampled_from(VERBS),
    st.sampled_from(ARGUMENTS) | st.text(max_size=30),
    st.sampled_from([b"\r\n", b"\n", b"", b" \r\n"]),
)
STORED = st.sampled_from([b"PASV\r\nSTOR ann.jpg\r\n", b"EPSV\r\nSTOR /ann.jpg\r\n"])
SENT = COMMANDS | STORED | st.binary(max_size=40) | st.just(b"x" * 20_000)  # more than a line may have
PICTURES = st.lists(st.sampled_from([JPEG, JPEG[:5], JPEG[5:], b"\0"]) | st.binary(max_size=20), max_size=4)
# What a client does, in order: it sends bytes, opens a data connection for these pieces, or waits.
DEEDS = st.lists(
    st.tuples(st.just("send"), SENT) | st.tuples(st.just("picture"), PICTURES) | st.just(("wait", b"")),
    max_size=25,
)


class Camera:
    """A session without a network, and its data connections."""

    def __init__(self, folder: Path, reactor: MemoryReactorClock) -> None:
        async def check(name: str, password: str, address: str) -> Player | None:
            return Player(name, can_act=True) if password == "sesame" else None

        times = count(step=10)
        self.reactor = reactor
        self.unread = b""
        pictures = Pictures(folder, clock=lambda: float(next(times)))
        self.factory = WebcamFactory(check, pictures, self.reactor, range(5))
        self.transport = StringTransport(peerAddress=CAMERA)
        self.session = self.factory.buildProtocol(CAMERA)
        self.session.makeConnection(self.transport)

    def send(self, data: bytes) -> None:
        """Send bytes; they wait while the server does not read."""
        self.unread += data
        self.turn()

    def turn(self) -> None:
        self.reactor.advance(0)
        if self.transport.producerState == "producing" and not self.transport.disconnecting:
            data, self.unread = self.unread, b""
            self.session.dataReceived(data)
            self.reactor.pump([0] * 50)  # a turn for each line

    def picture(self, pieces: list[bytes]) -> None:
        """Connect to the passive port that was opened last, if any."""
        if not self.reactor.tcpServers:
            return
        upload = self.reactor.tcpServers[-1][1].buildProtocol(CAMERA)
        if upload is None:
            return
        transport = StringTransport(peerAddress=CAMERA)
        upload.makeConnection(transport)
        for piece in pieces:
            if not transport.disconnected and transport.producerState == "producing":
                upload.dataReceived(piece)
        upload.connectionLost(Failure(ConnectionDone()))
        self.turn()

    def wait(self, _: bytes) -> None:
        self.reactor.advance(PICTURE_TIME + 1)
        self.turn()

    def leave(self) -> None:
        self.session.connectionLost(Failure(ConnectionDone()))
        self.reactor.advance(PICTURE_TIME + 1)


@EXAMPLES
def test_any_commands_and_pictures_do_no_harm(examples: int) -> None:
    @given(st.booleans(), DEEDS)
    def prove(signed_in: bool, deeds: list[tuple[str, bytes | list[bytes]]]) -> None:
        reactor = MemoryReactorClock()
        # Twisted's FTP takes its turns on the global reactor.
        with (
            tempfile.TemporaryDirectory() as place,
            patch.object(global_reactor, "callLater", reactor.callLater),
        ):
            folder = Path(place, "video")
            folder.mkdir()
            camera = Camera(folder, reactor)
            camera.send(SIGN_IN if signed_in else b"")
            for deed, what in deeds:
                getattr(camera, deed)(what)
            camera.leave()

            for line in camera.transport.value().decode("utf-8", "replace").split("\r\n")[:-1]:
                assert re.match(r"\d{3}[ -]| ", line), line
                assert "internal server error" not in line
            assert [path.name for path in Path(place).iterdir()] == ["video"]
            assert {path.name for path in folder.iterdir()} <= {"ann.jpg"}
            assert all(is_jpeg(path.read_bytes()) for path in folder.iterdir())
        assert camera.factory.sessions._of == {}
        assert camera.reactor.getDelayedCalls() == []

    holds(prove, examples)
