"""A stage on loopback: enough of the protocol to join and chat, with faults to choose.

It listens for the stage socket and for the policy; `/ws` of the fake site leads here too.
"""

import itertools
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from urllib.parse import parse_qsl, urlencode

from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, CloseConnection, Event, Ping, Pong, Request, TextMessage

from tests.support.origin import Origin

POLICY = b"""<?xml version="1.0"?><cross-domain-policy>
<allow-access-from domain="*.localhost" to-ports="80,7230-7239"/></cross-domain-policy>\0"""

STILL = "/media/video-still/camera.jpg"


class Client:
    """One connection; `write` sends one frame."""

    def __init__(self, stage: "FakeStage", write: Callable[[bytes], None]) -> None:
        self.stage = stage
        self.me = f"sock_{next(stage.numbers)}"
        self._write = write
        self._lock = threading.Lock()
        self._avatar = ""  # ID of the avatar that it holds

    def send(self, mode: str, **fields: str) -> None:
        """Send a frame, unless the stage must lose it."""
        with self._lock:
            if mode != self.stage.drop_mode:
                self._write(urlencode({**fields, "mode": mode}).encode())

    def receive(self, frame: bytes) -> None:
        """Handle one frame as the stage does."""
        fields = dict(parse_qsl(frame.decode(), keep_blank_values=True))
        mode = fields.pop("mode")
        with self.stage.lock:
            self.stage.received.append((mode, fields))
        time.sleep(self.stage.latency)
        match mode:
            case "JOIN" if self.stage.rejects:
                self.send("ERR_DOUBLE_LOGIN", msg="no such stage")
            case "JOIN":
                self.send("LOAD_AV", ID="1", available="False")
                self.send("LOAD_AV", ID="2", available="True")
                if self.stage.camera:
                    camera = {"url": self.stage.camera, "thumbnail": STILL, "medium": "video"}
                    self.send("LOAD_AV", ID="3", available="False", **camera)
                self.send("LOAD_CHAT", chat=" Bravo! The fox sings.")
                self.stage.clients.add(self)
            case "LOADED":
                self.send("AV_POS", ID="2", X="44.0", Y="176.0", Z="0")
                if self.stage.applause:
                    self.send("APPLAUSE", applause="Clap!")
                self.send("CONFIRM_LOADED")
            case "INFO":
                self.send("MSG", message="This is a stage.")
            case "TEXT" if self._avatar:
                self.stage.broadcast("TEXT", ID=self._avatar, name="Queen", text=fields["msg"])
                self.stage.broadcast("WAVE", url=f"/speech/utter-{next(self.stage.spoken)}.mp3")
            case "TEXT":
                self.stage.broadcast("ANONTEXT", text=fields["msg"])
                if self.stage.reloads:
                    self.stage.broadcast("RELOAD")
            case "AV":
                self._avatar = fields["ID"]
                self.stage.broadcast("AV_CONNECT", client=self.me, ID=fields["ID"])
            case "MOVE":
                self.stage.broadcast("AV_POS", ID="2", X=fields["X"], Y=fields["Y"], Z="0")
            case "DRAW_LINE":
                self.stage.broadcast("DRAW_LINE", layer="3", x=fields["x"], y=fields["y"])


class FakeStage:
    """The stage: the faults to show, and what it has received."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.numbers = itertools.count(1)
        self.spoken = itertools.count(1)  # the number of the next spoken line
        self.clients: set[Client] = set()
        self.received: list[tuple[str, dict[str, str]]] = []
        self.closed = 0  # connections that have ended
        self.drop_mode = ""  # lose the frames of this mode
        self.latency = 0.0  # seconds before each reply
        self.rejects = False  # reject every JOIN
        self.applause = False  # offer the applause button
        self.reloads = False  # ask every client to load the page again after each chat line
        self.cut_at = ""  # cut a connection in mid-frame when it sends this mode
        self.camera = ""  # the URL of a webcam's picture
        self.stalls = False  # stop reading after JOIN
        self.policy = POLICY
        self.socket = Origin("stage", behave=self.serve)
        self.policy_socket = Origin("policy", behave=self.answer_policy)

    @property
    def modes(self) -> Counter[str]:
        with self.lock:
            return Counter(mode for mode, _ in self.received)

    @property
    def lines(self) -> list[str]:
        with self.lock:
            return [fields["msg"] for mode, fields in self.received if mode == "TEXT"]

    def broadcast(self, mode: str, **fields: str) -> None:
        for client in list(self.clients):
            try:
                client.send(mode, **fields)
            except OSError:
                self.clients.discard(client)

    def end(self, client: Client) -> None:
        """Forget a client whose connection has ended."""
        self.clients.discard(client)
        with self.lock:
            self.closed += 1

    def close(self) -> None:
        self.socket.close()
        self.policy_socket.close()

    def answer_policy(self, connection: socket.socket) -> None:
        """Send the Flash policy to a client that asks for it and has not left yet."""
        if connection.recv(100) == b"<policy-file-request/>\0":
            connection.sendall(self.policy)

    def serve(self, connection: socket.socket) -> None:
        """Serve a connection of the stage socket."""
        client = Client(self, lambda frame: connection.sendall(frame + b"\0"))
        rest = b""
        try:
            client.send("SET", ID=client.me)
            while data := connection.recv(65536):
                *frames, rest = (rest + data).split(b"\0")
                for frame in frames:
                    if self.cut_at and frame.endswith(f"mode={self.cut_at}".encode()):
                        connection.sendall(b"text=half+a+li")
                        return
                    client.receive(frame)
                    if self.stalls and frame.endswith(b"mode=JOIN"):
                        time.sleep(1)
                        return
        finally:
            self.end(client)


def serve_web_socket(
    stage: FakeStage, connection: socket.socket, path: str, headers: list[tuple[str, str]]
) -> None:
    """Continue as a WebSocket with a connection whose request has been read."""
    web = WSConnection(ConnectionType.SERVER)
    web.initiate_upgrade_connection([(name.encode(), value.encode()) for name, value in headers], path)
    client = Client(stage, lambda frame: connection.sendall(web.send(TextMessage(frame.decode()))))

    def handle(event: Event) -> bool:
        match event:
            case Request():
                connection.sendall(web.send(AcceptConnection()))
                connection.sendall(web.send(Ping()))
                client.send("SET", ID=client.me)
            case Pong():
                with stage.lock:
                    stage.received.append(("pong", {}))
            case TextMessage():
                client.receive(event.data.encode())
            case CloseConnection():
                return False
        return True

    try:
        while all(handle(event) for event in web.events()):
            data = connection.recv(65536)
            if not data:
                break
            web.receive_data(data)
    except OSError:
        pass  # the client closed the connection
    finally:
        stage.end(client)
