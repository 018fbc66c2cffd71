"""A tiny stage on loopback: enough of the protocol to be joined and spoken on, and faults to order.

Through the raw socket, and through `/ws` of the tiny front.
"""

import itertools
import socket
import threading
import time
from collections import Counter
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import Any
from urllib.parse import parse_qsl, urlencode

from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, CloseConnection, Event, Ping, Pong, Request, TextMessage

POLICY = b"""<?xml version="1.0"?><cross-domain-policy>
<allow-access-from domain="*.localhost" to-ports="80,7230-7239"/></cross-domain-policy>\0"""


class Client:
    """One connection; `write` takes one frame."""

    def __init__(self, stage: "Stage", write: Any) -> None:
        self.stage = stage
        self.write = write
        self.me = f"sock_{next(stage.numbers)}"
        self.lock = threading.Lock()
        self.frames = 0

    def say(self, mode: str, **fields: str) -> None:
        """Send a frame, unless it is one of those that this stage loses."""
        with self.lock:
            self.frames += 1
            lost = mode == self.stage.forgets or (
                self.stage.drop_every and self.frames % self.stage.drop_every == 0
            )
            if not lost:
                self.write(urlencode({**fields, "mode": mode}).encode())

    def hear(self, frame: bytes) -> None:
        """Answer one frame as the stage does."""
        fields = dict(parse_qsl(frame.decode(), keep_blank_values=True))
        mode = fields.pop("mode")
        with self.stage.lock:
            self.stage.heard[mode] += 1
            self.stage.said.append((mode, fields))
        time.sleep(self.stage.delay)
        match mode:
            case "JOIN" if self.stage.full:
                self.say("ERR_DOUBLE_LOGIN", msg="no such stage")
            case "JOIN":
                self.say("LOAD_AV", ID="1", available="False")
                self.say("LOAD_AV", ID="2", available="True")
                self.say("LOAD_CHAT", chat=" Bravo! The fox sings.")
                self.stage.clients.add(self)
            case "LOADED":
                self.say("AV_POS", ID="2", X="44.0", Y="176.0", Z="0")
                if self.stage.applause:
                    self.say("APPLAUSE", applause="Clap!")
                self.say("CONFIRM_LOADED")
            case "TEXT":
                self.stage.broadcast("ANONTEXT", text=fields["msg"])
            case "AV":
                self.stage.broadcast("AV_CONNECT", client=self.me, ID=fields["ID"])
            case "MOVE":
                self.stage.broadcast("AV_POS", ID="2", X=fields["X"], Y=fields["Y"], Z="0")
            case "DRAW_LINE":
                self.stage.broadcast("DRAW_LINE", layer="3", x=fields["x"], y=fields["y"])


class Stage:
    """What is wrong with it, and what it has heard."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.numbers = itertools.count(1)
        self.clients: set[Client] = set()
        self.heard: Counter[str] = Counter()
        self.said: list[tuple[str, dict[str, str]]] = []
        self.lost = 0  # connections that were closed
        self.drop_every = 0  # of the frames of each connection
        self.forgets = ""  # a mode that is never sent
        self.delay = 0.0
        self.full = False
        self.applause = False
        self.cut_at = ""  # the mode at which connections are cut in mid-frame
        self.deaf = False  # does not read after JOIN
        self.policy = POLICY
        self.port = self.policy_port = 0

    def broadcast(self, mode: str, **fields: str) -> None:
        for client in list(self.clients):
            try:
                client.say(mode, **fields)
            except OSError:
                self.clients.discard(client)


def raw_handler(stage: Stage) -> type[StreamRequestHandler]:
    class Handler(StreamRequestHandler):
        def handle(self) -> None:
            client = Client(stage, lambda frame: self.request.sendall(frame + b"\0"))
            rest = b""
            try:
                client.say("SET", ID=client.me)
                while data := self.request.recv(65536):
                    *frames, rest = (rest + data).split(b"\0")
                    for frame in frames:
                        if stage.cut_at and frame.endswith(f"mode={stage.cut_at}".encode()):
                            self.request.sendall(b"text=half+a+li")
                            return
                        client.hear(frame)
                        if stage.deaf and frame.endswith(b"mode=JOIN"):
                            time.sleep(3)
                            return
            except OSError:
                pass  # the visitor was stopped
            finally:
                stage.clients.discard(client)
                stage.lost += 1

    return Handler


def policy_handler(stage: Stage) -> type[StreamRequestHandler]:
    class Handler(StreamRequestHandler):
        def handle(self) -> None:
            assert self.request.recv(100) == b"<policy-file-request/>\0"
            self.request.sendall(stage.policy)

    return Handler


class Server(ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128


def serve_web_socket(
    stage: Stage, connection: socket.socket, path: str, headers: list[tuple[str, str]]
) -> None:
    """Go on as a WebSocket with a connection whose request has been read."""
    web = WSConnection(ConnectionType.SERVER)
    web.initiate_upgrade_connection([(name.encode(), value.encode()) for name, value in headers], path)
    client = Client(stage, lambda frame: connection.sendall(web.send(TextMessage(frame.decode()))))

    def happened(event: Event) -> bool:
        match event:
            case Request():
                connection.sendall(web.send(AcceptConnection()))
                connection.sendall(web.send(Ping()))
                client.say("SET", ID=client.me)
            case Pong():
                stage.heard["pong"] += 1
            case TextMessage():
                client.hear(event.data.encode())
            case CloseConnection():
                return False
        return True

    try:
        while all(happened(event) for event in web.events()):
            data = connection.recv(65536)
            if not data:
                break
            web.receive_data(data)
    except OSError:
        pass  # the visitor was stopped
    finally:
        stage.clients.discard(client)
        stage.lost += 1


def lines(stage: Stage) -> list[str]:
    """The lines that were said."""
    return [fields["msg"] for mode, fields in stage.said if mode == "TEXT"]
