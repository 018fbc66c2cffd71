"""Random input for both stage transports and the upload of a real server: it must survive.

Valid frames, nearly valid frames and plain noise, cut anywhere, over TCP and WebSocket; forms with files that
are nearly pictures and sounds; and one well-behaved client that chats. At the end: no unhandled error in the
log, the client still served, and no more memory than at half time, when the chat log and the drawing are
full.
"""

import random
import socket
import struct
import threading
import time
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote_plus

import pytest

from running_backend import PASSWORD, Backend, Editor, join, make_content
from upstage.settings import PACKAGE
from upstage.stage.stages import COMMON_MODES, PLAYER_MODES

# A client with the key "player" becomes one of forty players. Speech is switched off.
RUN = """
import itertools, os, sys
from dataclasses import replace
from pathlib import Path
from upstage.stage import stages
from upstage.stage.players import Player
from upstage.service import serve
from upstage.settings import from_environment
from upstage.media.speech import Speaker
names, ident = itertools.cycle(range(40)), stages.COMMON_MODES["IDENT"]
def quick_ident(where, member, message):
    ident(where, member, message)
    if member.key == "player":
        member.player = Player(f"p{next(names)}", can_act=True)
stages.COMMON_MODES["IDENT"] = quick_ident
Speaker.speak = lambda self, voice, text: None
settings = from_environment(os.environ)
sys.exit(serve(replace(settings, site=Path(sys.argv[1]), content=Path(sys.argv[2]))))
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
MOST_GROWTH = 8_000  # kB from half time to the end: the allocator's noise, not a leak
MOMENT = 0.02  # seconds for a client to read


HANDSHAKE = (
    b"GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


BOUNDARY = b"the-boundary"
# Beginnings of accepted files, and of one that is not.
FILES = [
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\2\0\0\0",
    b"\xff\xd8\xff\xe0\0\x10JFIF\0",
    b"GIF89a\1\0\1\0\0\0\0",
    b"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 1 1'><g><path d='M0 0h1v1z'/></g></svg>",
    b"<!DOCTYPE svg [<!ENTITY a 'b'>]><svg xmlns='http://www.w3.org/2000/svg'>&a;</svg>",
    b"ID3\4\0\0\0\0\0\0\xff\xfb\x90\0",
    b"OggS\0\2" + bytes(20),
    b"MZ",
]


class Noise:
    """All random values, from one seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def value(self) -> str:
        text = self.random.choice(VALUES) * self.random.choice((1,) * 30 + (2, 400))
        return text if self.random.random() < 0.2 else quote_plus(text, errors="replace")

    def frame(self) -> bytes:
        names = self.random.sample(FIELDS, self.random.choice((1, 2, 4, len(FIELDS))))
        pairs = [f"{name}={self.value()}" for name in names]
        pairs.append(f"mode={self.random.choice(MODES)}")
        frame = self.random.choice("&&&;").join(pairs).encode("utf-8", "replace")
        return self.damaged(frame) if self.random.random() < 0.2 else frame

    def damaged(self, frame: bytes) -> bytes:
        data = bytearray(frame)
        for _ in range(self.random.randint(1, 5)):
            data[self.random.randrange(len(data))] = self.random.randrange(256)
        return bytes(data) + self.random.randbytes(self.random.choice((0, 0, 0, 0, 10, 3000)))

    def frames(self) -> list[bytes]:
        beginning = [
            b"MD5=player&mode=IDENT",
            b"stage_ID=demo&mode=JOIN",
            b"ID=1&mode=AV",
            b"layer=1&mode=DRAW_LAYER",
        ]
        return beginning[: self.random.randint(0, 4)] + [
            self.frame() for _ in range(self.random.randint(1, 60))
        ]

    def pieces(self, stream: bytes) -> list[bytes]:
        """The stream cut anywhere."""
        cuts = sorted(self.random.randrange(len(stream) + 1) for _ in range(self.random.randint(0, 6)))
        return [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]

    def tcp(self) -> bytes:
        return b"".join(frame + b"\0" for frame in self.frames())

    def websocket(self) -> bytes:
        """Messages of all kinds, some of which violate RFC 6455."""
        messages = []
        for frame in self.frames():
            opcode = self.random.choices((1, 2, 0, 8, 9, 10, 3), (60, 20, 5, 1, 5, 5, 1))[0]
            payload = frame + b"\0" if opcode == 2 else frame
            final = 0x80 if self.random.random() < 0.9 else 0
            messages.append(self.message(final | opcode, payload))
        if self.random.random() < 0.1:
            messages.append(self.random.randbytes(200))
        return b"".join(messages)

    def form(self, token: bytes) -> bytes:
        """A multipart form with a file; some are damaged."""
        file = self.random.choice(FILES) + self.random.randbytes(self.random.choice((0, 10, 5000, 100_000)))
        fields = [(b"csrf", token), (b"name", self.value().encode("utf-8", "replace")), (b"kind", b"prop")]
        parts = [b'Content-Disposition: form-data; name="%s"\r\n\r\n%s' % field for field in fields]
        parts.append(b'Content-Disposition: form-data; name="file"; filename="x"\r\n\r\n' + file)
        if self.random.random() < 0.3:
            self.random.shuffle(parts)
        body = b"".join(b"--%s\r\n%s\r\n" % (BOUNDARY, part) for part in parts) + b"--%s--\r\n" % BOUNDARY
        return self.damaged(body) if self.random.random() < 0.3 else body

    def message(self, first: int, payload: bytes) -> bytes:
        length = len(payload)
        size = bytes([0x80 | length]) if length < 126 else struct.pack("!BH", 0x80 | 126, length)
        mask = self.random.randbytes(4)
        masked = bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload))
        return bytes([first]) + size + mask + masked


def throw(port: int, noise: Noise, greeting: bytes, stream: bytes) -> None:
    """One client: sends its stream in pieces, reads some of the replies, and closes or resets."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 5) as client:  # or cut off
        if greeting:
            client.sendall(greeting)
            assert client.recv(4096).startswith(b"HTTP/1.1 101 ")
        client.settimeout(MOMENT)
        for piece in noise.pieces(stream):
            client.sendall(piece)
            if noise.random.random() < 0.7:
                with suppress(TimeoutError):
                    client.recv(1 << 20)
        if noise.random.random() < 0.3:  # closes with a reset
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def bring(server: Backend, noise: Noise, cookie: bytes, token: bytes) -> None:
    """One form, sent in pieces; some forms are never completed."""
    body = noise.form(token)
    head = (
        b"POST /admin/workshop/media HTTP/1.1\r\nHost: x\r\nOrigin: http://x\r\nConnection: close\r\n"
        b"Cookie: %s\r\nContent-Type: multipart/form-data; boundary=%s\r\nContent-Length: %d\r\n\r\n"
    ) % (cookie, BOUNDARY, len(body))
    pieces = noise.pieces(body)
    if noise.random.random() < 0.1:
        pieces.pop()
    with suppress(OSError), socket.create_connection(("127.0.0.1", server.web_port), 5) as client:
        for piece in [head, *pieces]:
            client.sendall(piece)
        client.settimeout(2 if sum(map(len, pieces)) == len(body) else MOMENT)
        answer = client.recv(4096)
        assert not answer.startswith(b"HTTP/1.1 500"), answer


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


def fuzz(seconds: float, seed: int, folder: Path) -> dict[str, int]:
    """Run against a new server; return the counts; raise AssertionError."""
    content = make_content(folder / "content")
    server = Backend(
        folder, ["-c", RUN, str(PACKAGE / "site"), str(content)], UPSTAGE_ADMIN_PASSWORD=PASSWORD
    )
    admin = Editor(server)
    cookie, token = admin.cookie.encode(), admin.csrf.encode()
    began = time.monotonic()
    thrown = [0, 0, 0]

    def attack(kind: int) -> None:
        noise = Noise(seed + kind)
        while time.monotonic() - began < seconds:
            if kind == 0:
                throw(server.stage_port, noise, b"", noise.tcp())
            elif kind == 1:
                throw(server.web_port, noise, HANDSHAKE, noise.websocket())
            else:
                bring(server, noise, cookie, token)
            thrown[kind] += 1

    threads = [threading.Thread(target=attack, args=(kind,)) for kind in (0, 1, 2)]
    for thread in threads:
        thread.start()
    warm, normal = 0, 0
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
    assert end - warm < MOST_GROWTH, f"memory grew from {warm} to {end} kB"
    cut = len(server.logged("cut off"))
    return {
        "tcp": thrown[0],
        "websocket": thrown[1],
        "uploads": thrown[2],
        "normal": normal,
        "cut": cut,
        "warm_kB": warm,
        "end_kB": end,
    }


# Half of the long run each, so that the two run side by side.
HALVES = [pytest.param(120, marks=pytest.mark.slow, id=name) for name in ("first half", "second half")]


@pytest.mark.parametrize("seconds", [3, *HALVES])
def test_random_input_breaks_nothing(tmp_path: Path, seconds: float) -> None:
    assert fuzz(seconds, random.randrange(1 << 32) if seconds > 60 else 1, tmp_path)["cut"]
