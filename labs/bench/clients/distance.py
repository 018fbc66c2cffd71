"""Runs a command whose connections to a server take a given time, as if the server were far away.

    python3 -m bench.clients.distance '{"address": "tls-nginx", "port": 8443, "round_trip": 100,
        "command": ["curl", "https://localhost:8443/"]}'

The command reaches the server as 127.0.0.1, at the same port, over TCP and UDP; everything arrives half a
round trip (milliseconds) after it was sent. Over TCP, link.py adds what this machine's kernel leaves out.
"""

import asyncio
import json
import subprocess
import sys
from contextlib import suppress
from functools import partial
from typing import Any, cast

from bench.clients.link import PIECE, LateWriter, Link


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter | LateWriter) -> None:
    """One direction of a connection, until its end."""
    with suppress(ConnectionError):
        while data := await reader.read(PIECE):
            writer.write(data)
            await writer.drain()
    writer.close()


async def tcp(
    settings: dict[str, Any], client: asyncio.StreamReader, to_client: asyncio.StreamWriter
) -> None:
    """One connection."""
    server, to_server = await Link(settings["round_trip"]).connect(settings["address"], settings["port"])
    await asyncio.gather(copy(client, to_server), copy(server, to_client))


class LateDatagrams(asyncio.DatagramProtocol):
    """Passes on datagrams, each `delay` seconds late."""

    def __init__(self, delay: float) -> None:
        self._delay = delay
        self.transport: asyncio.DatagramTransport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self.transport = cast(asyncio.DatagramTransport, transport)

    def pass_on(self, to: asyncio.DatagramTransport, data: bytes, address: Any = None) -> None:
        """Send later."""
        asyncio.get_running_loop().call_later(self._delay, to.sendto, data, address)


class FromServer(LateDatagrams):
    """The socket that stands for one client towards the server."""

    def __init__(self, delay: float, client: asyncio.DatagramTransport, address: Any) -> None:
        super().__init__(delay)
        self._client, self._address = client, address

    def datagram_received(self, data: bytes, addr: Any) -> None:
        """To the client."""
        self.pass_on(self._client, data, self._address)


class FromClients(LateDatagrams):
    """The socket that stands for the server towards all clients."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__(settings["round_trip"] / 2000)
        self._server = settings["address"], settings["port"]
        self._opening: dict[Any, asyncio.Task[FromServer]] = {}

    def datagram_received(self, data: bytes, addr: Any) -> None:
        """To the server, from a socket for this client alone."""
        if addr not in self._opening:
            self._opening[addr] = asyncio.ensure_future(self._open(addr))
        self._opening[addr].add_done_callback(lambda task: self.pass_on(task.result().transport, data))

    async def _open(self, addr: Any) -> FromServer:
        make = partial(FromServer, self._delay, self.transport, addr)
        _, protocol = await asyncio.get_running_loop().create_datagram_endpoint(
            make, remote_addr=self._server
        )
        return protocol


async def main(settings: dict[str, Any]) -> int:
    """Run the command; returns its exit code."""
    here = "127.0.0.1", settings["port"]
    await asyncio.start_server(partial(tcp, settings), *here)
    await asyncio.get_running_loop().create_datagram_endpoint(lambda: FromClients(settings), local_addr=here)
    return (await asyncio.to_thread(subprocess.run, settings["command"])).returncode


if __name__ == "__main__":
    sys.exit(asyncio.run(main(json.loads(sys.argv[1]))))
