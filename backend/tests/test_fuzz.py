"""Random input for both stage transports of a real server: it must survive.

Valid frames, nearly valid frames and plain noise, cut anywhere, over TCP and WebSocket; and one well-behaved
client that chats. At the end: no unhandled error in the log, the client still served, and no more memory than
at half time, when the chat log and the drawing are full. (Uploads: test_upload.py, test_media.py. What comes
before a proxied stream, FTP, drawings: the other test_fuzz_*.py.)
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

from hostile_input import HANDSHAKE, JOIN, message
from running_backend import Backend, join
from upstage.stage.stages import COMMON_MODES, PLAYER_MODES

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
BEGINNING = [b"MD5=player&mode=IDENT", JOIN, b"ID=1&mode=AV", b"layer=1&mode=DRAW_LAYER"]
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
def test_random_input_breaks_nothing(tmp_path: Path, seconds: float) -> None:
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
