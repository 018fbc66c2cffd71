"""Runs a command with a given round trip to a server, as if the server were far away.

    python3 -m labs.bench.clients.distance '{"address": "tls-nginx", "port": 8443, "round_trip": 100,
        "command": ["curl", "https://localhost:8443/"]}'

The command reaches the server as 127.0.0.1, at the same port, over TCP and UDP; all data arrive half a round
trip (milliseconds) after they were sent. Over TCP, link.py adds the delays that loopback does not have: those
of the handshake and of slow start.
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from labs.bench.clients.link import PIECE, LateWriter, Link


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter | LateWriter) -> None:
    """Copy one direction of a connection, until its end."""
    with suppress(ConnectionError):
        while data := await reader.read(PIECE):
            writer.write(data)
            await writer.drain()
    writer.close()


async def tcp(
    settings: dict[str, Any], client: asyncio.StreamReader, to_client: asyncio.StreamWriter
) -> None:
    """Relay one connection."""
    server, to_server = await Link(settings["round_trip"]).connect(settings["address"], settings["port"])
    await asyncio.gather(copy(client, to_server), copy(server, to_client))


class Datagrams(asyncio.DatagramProtocol):
    """Passes each datagram and its sender to a function."""

    def __init__(self, receive: Callable[[bytes, Any], None]) -> None:
        self._receive = receive

    def datagram_received(self, data: bytes, addr: Any) -> None:
        """Pass the datagram on."""
        self._receive(data, addr)


async def udp(settings: dict[str, Any], here: tuple[str, int]) -> None:
    """Relay datagrams, half a round trip late; each client has its own socket to the server."""
    loop, delay = asyncio.get_running_loop(), settings["round_trip"] / 2000
    server = settings["address"], settings["port"]
    opening: dict[Any, asyncio.Task[asyncio.DatagramTransport]] = {}

    async def open_for(client: Any) -> asyncio.DatagramTransport:
        def to_client(data: bytes, _: Any) -> None:
            loop.call_later(delay, clients.sendto, data, client)

        transport, _ = await loop.create_datagram_endpoint(lambda: Datagrams(to_client), remote_addr=server)
        return transport

    def to_server(data: bytes, client: Any) -> None:
        if client not in opening:
            opening[client] = asyncio.create_task(open_for(client))
        opening[client].add_done_callback(lambda task: loop.call_later(delay, task.result().sendto, data))

    clients, _ = await loop.create_datagram_endpoint(lambda: Datagrams(to_server), local_addr=here)


async def main(settings: dict[str, Any]) -> int:
    """Relay TCP and UDP to the server while the command runs; return its exit code."""
    here = "127.0.0.1", settings["port"]
    await asyncio.start_server(partial(tcp, settings), *here)
    await udp(settings, here)
    return (await asyncio.to_thread(subprocess.run, settings["command"])).returncode


if __name__ == "__main__":
    sys.exit(asyncio.run(main(json.loads(sys.argv[1]))))
