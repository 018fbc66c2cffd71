"""No input does harm to the parsers of clients' data; Hypothesis makes the input."""

import re
import tempfile
from collections.abc import Callable
from contextlib import suppress
from itertools import count, pairwise
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch
from urllib.parse import quote_plus
from xml.etree import ElementTree
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.internet import reactor as global_reactor
from twisted.internet.address import IPv4Address
from twisted.internet.error import ConnectionDone
from twisted.internet.task import Clock
from twisted.internet.testing import MemoryReactorClock, StringTransport
from twisted.python.failure import Failure

from backend.tests.demo_stage import with_demo
from backend.tests.fake_clients import JOIN, SocketClient, joined, message, sesame, turn
from upstage.media import svg
from upstage.media.files import BadMedia, format_of
from upstage.net.connection import Connections
from upstage.net.pictures import Pictures, is_jpeg
from upstage.net.webcam import PICTURE_TIME, Session, WebcamFactory
from upstage.stage.players import Player
from upstage.stage.stages import COMMON_MODES, PLAYER_MODES, Stages
from upstage.web.upload import Upload

# --- A player's frames, nearly valid frames and noise, behind a proxy's header or in WebSocket messages, cut
# anywhere: they cause no error, the client is gone at the end, and another one can still chat.

ADDRESSES = (b"TCP4 192.0.2.1 192.0.2.2 4711 7230", b"TCP6 2001:db8::1 ::1 1 2")
GOOD = st.sampled_from([b"PROXY " + each + b"\r\n" for each in ADDRESSES])
BEGUN = st.sampled_from([b"PROXY TCP4 ", b"PROXY UNKNOWN\r\n", b"\r\n\r\n\0\r\nQUIT\n!"])
CHANCE = st.randoms(use_true_random=True)  # with a seed of its own: many values at little cost
HEADERS = (
    GOOD | GOOD | GOOD | st.builds(bytes.__add__, BEGUN, st.binary(max_size=230)) | st.binary(max_size=120)
)
MODES = sorted({*COMMON_MODES, *PLAYER_MODES})
_FIELDS = (
    "MD5 stage_ID msg ID X Y Z x y name show_name newlayer frameNumber layer colour thickness alpha "
    "visible file array url type volume shout thought pmessage"
)
_VALUES = (
    "0 1 2 3 -1 1e308 nan inf -inf 1_0 0x10 01 true false show hide demo bell.mp3 sounds sfx * *=x 1=x ../.. "
    "\0 \n \ud800 \U0001f3ad <b> %00 %zz & ; ="
)
FIELDS, RAW = _FIELDS.split(), _VALUES.split(" ")
VALUES = [*RAW, *[quote_plus(value, errors="replace") for value in RAW] * 4]
ACTING = [JOIN[:-1], b"ID=1&mode=AV", b"layer=1&mode=DRAW_LAYER"]


def noise(chance: Random) -> bytes:
    """Return a frame with some or all fields, whatever its mode; in a fifth of the frames bytes are wrong."""
    names = chance.sample(FIELDS, chance.choice((1, 2, 4, len(FIELDS))))
    pairs = [*(f"{name}={chance.choice(VALUES)}" for name in names), f"mode={chance.choice(MODES)}"]
    data = bytearray(chance.choice("&&&;").join(pairs).encode("utf-8", "replace"))
    if chance.random() < 0.2:
        data[chance.randrange(len(data))] = chance.randrange(256)
        data += chance.choice([b"", chance.randbytes(10), b"x" * 3000])
    return bytes(data)


def a_stage_client(header: bytes, websocket: bool, chance: Random, cuts: list[int]) -> None:
    connections = Connections(with_demo(Stages()), Clock(), max_unread=100_000)
    [calm] = joined(connections)
    key = connections.stages.key_for(Player("ann", can_act=True)).encode()
    frames = [b"MD5=" + key + b"&mode=IDENT", *ACTING[: chance.randint(0, 4)]]
    frames += [noise(chance) for _ in range(chance.randint(0, 150))]
    if websocket:
        client = SocketClient(connections, websocket=True)
        opcodes = chance.choices((1, 2, 0, 8, 9, 10, 3), (150, 50, 1, 1, 9, 9, 1), k=len(frames))
        stream = b"".join(
            message(opcode, frame + b"\0" if opcode == 2 else frame, chance.random() < 0.98)
            for frame, opcode in zip(frames, opcodes, strict=True)
        )
    else:
        client = SocketClient(connections, proxied=True)
        stream = header + b"".join(frame + b"\0" for frame in frames)
    for start, end in pairwise([0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]):
        if not client.transport.disconnecting and not client.transport.disconnected:
            client.protocol.dataReceived(stream[start:end])
            turn(connections)
    client.lose()
    turn(connections)
    assert calm.send(b"msg=calm&mode=TEXT\0")[-1] == b"text=calm&mode=ANONTEXT"
    assert len(connections.stages.by_id["demo"].members) == 1


# --- Commands and pictures for the webcam listener cause no error, and only a player's own JPEG is stored.

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
SENT = COMMANDS | STORED | st.binary(max_size=40) | st.just(b"x" * 20_000)  # the last is too long
PICTURES = st.lists(st.sampled_from([JPEG, JPEG[:5], JPEG[5:], b"\0"]) | st.binary(max_size=20), max_size=4)
# A client's actions, in order: it sends bytes, opens a data connection for these pieces, or waits.
DEEDS = st.lists(
    st.tuples(st.just("send"), SENT) | st.tuples(st.just("picture"), PICTURES) | st.just(("wait", b"")),
    max_size=25,
)


class Camera:
    """A session without a network, and its data connections."""

    def __init__(self, folder: Path, reactor: MemoryReactorClock) -> None:
        times = count(step=10)
        self.reactor = reactor
        self.unread = b""
        pictures = Pictures(folder, clock=lambda: float(next(times)))
        self.factory = WebcamFactory(sesame, pictures, self.reactor, range(5))
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


# --- Files, and the forms that bring them: accepted or rejected, never larger than allowed, and none is left.

BEGINNINGS = (
    *(
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1",
        b"\xff\xd8\xff\xe0\0\x10JFIF\0",
        b"GIF89a\1\0\1\0\x80",
    ),
    *(b"OggS" + bytes(23) + b"\x1e\x01vorbis", b"ID3\4", b"\xff\xfb\x90\0", b"<svg "),
)
PIECES = st.sampled_from(
    [
        *(b"--the-seam", b"--", b"\r\n", b"\r\n\r\n", b"Content-Disposition: form-data"),
        *(b"; name=csrf", b"; filename=x", b"x"),
    ]
)


def a_file(beginning: bytes, length: int, rest: bytes) -> None:
    with tempfile.NamedTemporaryFile() as file, suppress(BadMedia):
        Path(file.name).write_bytes(beginning[:length] + rest)
        format_of(Path(file.name))


def an_upload(pieces: list[bytes], limit: int) -> None:
    ended: list[bool] = []
    with tempfile.TemporaryDirectory() as folder:
        upload = Upload(b"the-seam", Path(folder), limit, lambda token: True, lambda: ended.append(True))
        for piece in pieces:
            upload.write(piece)
            assert sum(path.stat().st_size for path in Path(folder).iterdir()) <= limit
        if path := upload.take():
            assert 0 < path.stat().st_size <= limit
            path.unlink()
        upload.discard()
        upload.discard()
        assert list(Path(folder).iterdir()) == []
    assert ended == [True]


TARGETS: list[tuple[Callable[..., None], list[st.SearchStrategy[Any]]]] = [
    (a_stage_client, [HEADERS, st.booleans(), CHANCE, st.lists(st.integers(0, 9999), max_size=4)]),
    (a_webcam, [st.booleans(), DEEDS]),
    (a_drawing, [st.lists(PART, max_size=4).map("".join)]),
    (a_file, [st.sampled_from(BEGINNINGS), st.integers(2, 40), st.binary(max_size=300)]),
    (an_upload, [st.lists(PIECES | st.binary(max_size=20), max_size=60), st.integers(0, 200)]),
]


@pytest.mark.parametrize("examples", [100, pytest.param(3_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("target", "input_of_it"), TARGETS, ids=[target.__name__ for target, _ in TARGETS])
def test_any_input_does_no_harm(
    target: Callable[..., None], input_of_it: list[st.SearchStrategy[Any]], examples: int
) -> None:
    settings(max_examples=examples, deadline=None)(given(*input_of_it)(target))()
