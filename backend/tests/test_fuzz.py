"""Random input: to each parser alone, by Hypothesis, and to both stage transports of a real server.

(Uploads: test_upload.py, test_media.py. Frames: test_wire.py.)
"""

import random
import re
import socket
import struct
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import quote_plus
from xml.etree import ElementTree
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet import reactor as global_reactor
from twisted.internet.address import IPv4Address
from twisted.internet.error import ConnectionDone
from twisted.internet.task import Clock
from twisted.internet.testing import MemoryReactorClock, StringTransport
from twisted.protocols.haproxy._wrapper import HAProxyWrappingFactory
from twisted.python.failure import Failure

from demo_stage import with_demo
from fake_clients import JOIN, message, turn
from many_examples import EXAMPLES, holds
from running_backend import Backend, join
from upstage.media import svg
from upstage.media.files import BadMedia, format_of
from upstage.net.connection import Connections
from upstage.net.pictures import Pictures, is_jpeg
from upstage.net.sockets import StageSocketFactory
from upstage.net.webcam import PICTURE_TIME, Session, WebcamFactory
from upstage.stage.players import Player
from upstage.stage.stages import COMMON_MODES, PLAYER_MODES, Stages

# --- Bytes where a proxy's header is expected, before the stage socket: no error, no client left.

WORDS = b"PROXY,TCP4,TCP6,UNKNOWN,192.0.2.1,2001:db8::1,4711,65536,-1, ,\r\n,\n".split(b",")
LINES = st.lists(st.sampled_from(WORDS) | st.binary(max_size=5), max_size=14).map(b"".join)
ADDRESSES = (b"TCP4 192.0.2.1 192.0.2.2 4711 7230", b"TCP6 2001:db8::1 ::1 1 2", b"UNKNOWN")
GOOD = st.sampled_from([b"PROXY " + each + b"\r\n" for each in ADDRESSES])
SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
BINARY = st.builds(
    lambda version, family, length, body: SIGNATURE + struct.pack("!BBH", version, family, length) + body,
    st.sampled_from([0x21, 0x20, 0x22, 0x11, 0x2F]),
    st.sampled_from([0x11, 0x21, 0x31, 0x12, 0x00, 0x41]),
    st.sampled_from([0, 12, 36, 216, 1, 65535]),
    st.binary(max_size=230),
)
HEADERS = GOOD | LINES | BINARY | st.binary(max_size=120)
FRAMES = st.lists(st.just(JOIN) | st.binary(max_size=40), max_size=4)


def a_proxied_stream(header: bytes, frames: list[bytes], cuts: list[int]) -> None:
    connections = Connections(with_demo(Stages()), Clock(), max_unread=100_000)
    protocol = HAProxyWrappingFactory(StageSocketFactory(connections)).buildProtocol(None)
    transport = StringTransport()
    protocol.makeConnection(transport)
    stream = header + b"".join(frames)
    ends = sorted({min(cut, len(stream)) for cut in cuts} | {len(stream)})
    for start, end in zip([0, *ends], ends, strict=False):
        if not transport.disconnecting and not transport.disconnected:
            protocol.dataReceived(stream[start:end])
            turn(connections)
    protocol.connectionLost(Failure(ConnectionDone()))
    turn(connections)
    assert len(connections.stages.by_id["demo"].members) == 0


# --- Commands and pictures for the webcam listener: no error, and only a player's own JPEG is stored.

JPEG = b"\xff\xd8\xff\xe0picture\xff\xd9"
CAMERA = IPv4Address("TCP", "192.0.2.1", 4711)
SIGN_IN = b"USER ann\r\nPASS sesame\r\n"
VERBS = [*sorted(Session.COMMANDS), "user", "RETR", "LIST", "PORT", "APPE", "DELE", "RNFR", "SITE", ""]
ARGUMENTS = [
    *("", "ann", "sesame", "ann.jpg", "/ann.jpg", "../ann.jpg", "bob.jpg"),
    *("/", "..", "I", "A", "S", "2", "ALL"),
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


def a_webcam(signed_in: bool, deeds: list[tuple[str, bytes | list[bytes]]]) -> None:
    reactor = MemoryReactorClock()
    # Twisted's FTP takes its turns on the global reactor.
    with tempfile.TemporaryDirectory() as place, patch.object(global_reactor, "callLater", reactor.callLater):
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


# --- Drawings: each is accepted or rejected, and no accepted one refers to anything outside itself.

NS = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
DRAWN, FORBIDDEN = "svg g use path style pattern mask marker animate", "image script a foreignObject"
TAGS = st.sampled_from([*DRAWN.split() * 5, *FORBIDDEN.split()])
ATTRIBUTES = "id class style fill mask marker marker-mid d points href xlink:href src onload attributeName"
KEYS = st.sampled_from(ATTRIBUTES.split())
CSS = "url(#a) url(//b.example) url( #a ) ' \" fill: mask: ; { } .x /* */ @import \\ //b.example x M0 1,2"
TEXT = st.lists(st.sampled_from([*CSS.split(), " "]), max_size=8).map("".join) | st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=8
)
PART = st.recursive(
    TEXT.map(escape),
    lambda parts: st.builds(
        lambda tag, attributes, inside: f"<{tag}{''.join(attributes)}>{''.join(inside)}</{tag}>",
        TAGS,
        st.dictionaries(KEYS, TEXT, max_size=3).map(
            lambda given: [f" {key}={quoteattr(value)}" for key, value in given.items()]
        ),
        st.lists(parts, max_size=4),
    ),
    max_leaves=12,
)
OUTSIDE = re.compile(r"url\(\s*['\"]?\s*[^#'\"\s]|@import|javascript:", re.I)


def a_drawing(inside: str) -> None:
    drawing = f"<svg {NS}>{inside}</svg>"
    with tempfile.NamedTemporaryFile() as file:
        Path(file.name).write_text(drawing)
        try:
            format_of(Path(file.name))
        except BadMedia:
            return
    for element in ElementTree.fromstring(drawing).iter():
        assert element.tag.rpartition("}")[2] not in FORBIDDEN.split()
        for key, value in element.attrib.items():
            assert not key.startswith("on")
            assert not key.endswith(("href", "src")) or value.strip().startswith("#")
            assert not OUTSIDE.search(value), value
        assert element.tag != f"{svg.SVG}style" or not OUTSIDE.search(element.text or "")


TARGETS: list[tuple[Callable[..., None], list[st.SearchStrategy[Any]]]] = [
    (a_proxied_stream, [HEADERS, FRAMES, st.lists(st.integers(0, 300), max_size=4)]),
    (a_webcam, [st.booleans(), DEEDS]),
    (a_drawing, [st.lists(PART, max_size=4).map("".join)]),
]


@EXAMPLES
@pytest.mark.parametrize(("target", "input_of_it"), TARGETS, ids=[target.__name__ for target, _ in TARGETS])
def test_any_input_does_no_harm(
    target: Callable[..., None], input_of_it: list[st.SearchStrategy[Any]], examples: int
) -> None:
    holds(given(*input_of_it)(target), examples)


# --- Valid frames, nearly valid frames and noise, cut anywhere, over TCP and WebSocket; and one that chats.
# At the end: no unhandled error in the log, that client still served, and memory that has not grown since
# half time, when the chat log and the drawing are full.

HANDSHAKE = (
    b"GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
# A client with the key "player" becomes one of forty players. Speech is switched off.
RUN = """
import itertools, sys
from upstage import cli
from upstage.media.speech import Speaker
from upstage.stage import stages
from upstage.stage.players import Player
names, ident = itertools.cycle(range(40)), stages.COMMON_MODES["IDENT"]
def quick_ident(where, member, message):
    ident(where, member, message)
    if member.key == "player":
        member.player = Player(f"p{next(names)}", can_act=True)
stages.COMMON_MODES["IDENT"] = quick_ident
Speaker.speak = lambda self, voice, text: None
sys.exit(cli.main(["serve"]))
"""
MODES = sorted({*COMMON_MODES, *PLAYER_MODES})
_FIELDS = (
    "MD5 stage_ID msg ID X Y Z x y name show_name newlayer frameNumber layer colour thickness alpha "
    "visible file array url type volume shout thought pmessage"
)
_VALUES = (
    "0 1 2 3 -1 1e308 nan inf -inf 1_0 0x10 01 true false show hide demo player bell.mp3 sounds sfx * *=x "
    "1=x ../.. \0 \n \ud800 \U0001f3ad <b> %00 %zz & ; ="
)
FIELDS, VALUES = _FIELDS.split(), _VALUES.split(" ")
BEGINNING = [b"MD5=player&mode=IDENT", JOIN[:-1], b"ID=1&mode=AV", b"layer=1&mode=DRAW_LAYER"]
MOST_GROWTH = 8_000  # kB from half time to the end: the allocator's noise, not a leak
MOMENT = 0.02  # seconds for a client to read


class Noise(random.Random):
    """All random values, from one seed."""

    def value(self) -> str:
        text = self.choice(VALUES) * self.choice((1,) * 30 + (2, 400))
        return text if self.random() < 0.2 else quote_plus(text, errors="replace")

    def frame(self) -> bytes:
        names = self.sample(FIELDS, self.choice((1, 2, 4, len(FIELDS))))
        pairs = [*(f"{name}={self.value()}" for name in names), f"mode={self.choice(MODES)}"]
        data = bytearray(self.choice("&&&;").join(pairs).encode("utf-8", "replace"))
        if self.random() < 0.2:
            for _ in range(self.randint(1, 5)):
                data[self.randrange(len(data))] = self.randrange(256)
            data += self.randbytes(self.choice((0, 0, 0, 0, 10, 3000)))
        return bytes(data)

    def frames(self) -> list[bytes]:
        return BEGINNING[: self.randint(0, 4)] + [self.frame() for _ in range(self.randint(1, 60))]

    def tcp(self) -> bytes:
        return b"".join(frame + b"\0" for frame in self.frames())

    def websocket(self) -> bytes:
        """Messages of all kinds, some of which violate RFC 6455."""
        messages = []
        for frame in self.frames():
            [opcode] = self.choices((1, 2, 0, 8, 9, 10, 3), (60, 20, 5, 1, 5, 5, 1))
            messages.append(message(opcode, frame + b"\0" if opcode == 2 else frame, self.random() < 0.9))
        return b"".join(messages) + (self.randbytes(200) if self.random() < 0.1 else b"")


def throw(port: int, noise: Noise, greeting: bytes, stream: bytes) -> None:
    """One client: sends its stream in pieces, reads some of the replies, and closes or resets."""
    cuts = sorted(noise.randrange(len(stream) + 1) for _ in range(noise.randint(0, 6)))
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 5) as client:  # or cut off
        if greeting:
            client.sendall(greeting)
            assert client.recv(4096).startswith(b"HTTP/1.1 101 ")
        client.settimeout(MOMENT)
        for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
            client.sendall(stream[start:end])
            if noise.random() < 0.7:
                with suppress(TimeoutError):
                    client.recv(1 << 20)
        if noise.random() < 0.3:  # closes with a reset
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def resident(server: Backend) -> int:
    """The server's memory in kB."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


def chat(server: Backend, number: int) -> None:
    """A well-behaved client joins and chats."""
    client = server.connect()
    join(client)
    client.send_frames(b"msg=normal%d&mode=TEXT" % number)
    client.frames_until(b"text=normal%d&mode=ANONTEXT" % number)
    client.close()


@pytest.mark.parametrize("seconds", [3, pytest.param(120, marks=pytest.mark.slow)])
def test_random_input_breaks_no_server(tmp_path: Path, seconds: float) -> None:
    seed = random.randrange(1 << 32) if seconds > 60 else 1
    server = Backend(tmp_path, ["-c", RUN])
    began = time.monotonic()
    thrown = [0, 0]

    def attack(kind: int) -> None:
        noise = Noise(seed + kind)
        while time.monotonic() - began < seconds:
            if kind == 0:
                throw(server.stage_port, noise, b"", noise.tcp())
            else:
                throw(server.web_port, noise, HANDSHAKE, noise.websocket())
            thrown[kind] += 1

    threads = [threading.Thread(target=attack, args=(kind,)) for kind in (0, 1)]
    for thread in threads:
        thread.start()
    warm = normal = 0
    while time.monotonic() - began < seconds:
        chat(server, normal)
        normal += 1
        if time.monotonic() - began > seconds / 2:
            warm = warm or resident(server)
        time.sleep(0.1)
    for thread in threads:
        thread.join()
    chat(server, normal)
    assert min(thrown) > 10, "an attacker has stopped"
    end = resident(server)
    assert server.stop() == 0
    bad = [line for line in server.lines() if line["level"] in ("error", "critical")]
    assert not bad, (seed, bad[:3])
    assert server.logged("cut off")
    assert end - warm < MOST_GROWTH, f"memory grew from {warm} to {end} kB"
