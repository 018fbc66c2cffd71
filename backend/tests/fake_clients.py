"""Clients of the stages without a network: they collect the frames that they are sent."""

import struct
from typing import Any

from twisted.internet.address import IPv4Address
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.protocols.haproxy._wrapper import HAProxyWrappingFactory
from twisted.python.failure import Failure
from wsproto.connection import Connection as WebSocket
from wsproto.connection import ConnectionType

from upstage.net.connection import REST, Connections
from upstage.net.sockets import StageSocketFactory
from upstage.stage.players import Player
from upstage.stage.stage import Member
from upstage.stage.stages import Stages
from upstage.web.websocket import StageWebSocket

JOIN = b"stage_ID=demo&mode=JOIN\0"


def message(opcode: int, payload: bytes = b"", final: bool = True) -> bytes:
    """Return a WebSocket frame from a client, masked with zeros."""
    length = len(payload)
    size = bytes([0x80 | length]) if length < 126 else struct.pack("!BH", 0x80 | 126, length)
    return bytes([opcode | (0x80 if final else 0)]) + size + bytes(4) + payload


class FakeClient:
    """One connection; `heard` returns the frames sent since the last call."""

    def __init__(self, stages: Stages, player: Player | None = None, stage: str = "demo") -> None:
        self.stages = stages
        self.sent: list[bytes] = []
        self.member: Member = stages.connect(self.sent.append)
        if player:
            self.send(f"MD5={stages.key_for(player)}&mode=IDENT")
        if stage:
            self.send(f"stage_ID={stage}&mode=JOIN")

    def send(self, *frames: str) -> None:
        for frame in frames:
            self.stages.receive(self.member, frame.encode())

    def heard(self) -> list[str]:
        """Return the frames since the last call, without the NUL bytes."""
        frames = b"".join(self.sent).decode().split("\0")[:-1]
        self.sent.clear()
        return frames

    def modes(self) -> list[str]:
        return [frame.rpartition("mode=")[2] for frame in self.heard()]

    def leave(self) -> None:
        self.stages.disconnect(self.member)


async def sesame(name: str, password: str, address: str) -> Player | None:
    """Return a player who may act, for any name with the password `sesame`; None for any other password."""
    return acting_player(name) if password == "sesame" else None


def acting_player(name: str) -> Player:
    return Player(name, can_act=True)


def clock_of(connections: Connections) -> Clock:
    assert isinstance(connections.reactor, Clock)
    return connections.reactor


def turn(connections: Connections) -> None:
    """Run the reactor until the queues are empty."""
    while len(connections.shared.slices) or len(connections.shared.sending) or len(connections._checks):
        clock_of(connections).advance(REST if len(connections.shared.sending) else 0)


class SocketClient:
    """A connection of the stage port, and the server's objects that handle it."""

    def __init__(
        self,
        connections: Connections,
        address: str = "192.168.1.1",
        websocket: bool = False,
        proxied: bool = False,
    ) -> None:
        self.connections = connections
        self.transport = StringTransport(peerAddress=IPv4Address("TCP", address, 1))
        factory = StageSocketFactory(connections)
        self.protocol: Any = (HAProxyWrappingFactory(factory) if proxied else factory).buildProtocol(None)
        if websocket:
            self.transport.registerProducer(object(), True)  # the HTTP channel
            self.protocol = StageWebSocket(connections, WebSocket(ConnectionType.SERVER), b"", address)
        self.protocol.makeConnection(self.transport)

    def send(self, data: bytes) -> list[bytes]:
        self.transport.clear()
        self.protocol.dataReceived(data)
        turn(self.connections)
        return self.received()

    def send_only(self, data: bytes) -> None:
        """Send, without waiting until the clients are sent their queued frames."""
        self.protocol.dataReceived(data)
        while len(self.connections.shared.slices):
            clock_of(self.connections).advance(0)

    def received(self) -> list[bytes]:
        *frames, rest = self.transport.value().split(b"\0")
        assert rest == b""
        return frames

    def lose(self) -> None:
        self.protocol.connectionLost(Failure(ConnectionError()))


def joined(connections: Connections, number: int = 1) -> list[SocketClient]:
    """Return clients that have joined the demo stage."""
    clients = [SocketClient(connections) for _ in range(number)]
    for client in clients:
        client.send(JOIN)
    return clients


def beat(connections: Connections) -> None:
    connections.beat()
    turn(connections)
