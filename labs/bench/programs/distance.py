"""Runs a command whose connections to a server take a given time, as if the server were far away.

    python3 -m bench.programs.distance '{"address": "tls-nginx", "port": 8443, "round_trip": 100,
        "command": ["curl", "https://localhost:8443/"]}'

The command reaches the server as 127.0.0.1, at the same port, over TCP and UDP; everything arrives half a
round trip (milliseconds) after it was sent. Two properties of a real distance are missing over TCP, because
the kernel of this machine acknowledges at once: the handshake, which takes a round trip (it is added: the
first bytes of a client wait for so long), and the slow start of a long response (so use a short one).
"""

import asyncio
import json
import subprocess
import sys
from functools import partial
from typing import Any, cast

QUEUE = 1000  # pieces of 64 kB on the way


async def carry(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay: float, handshake: float = 0.0
) -> None:
    """Copy one direction of a TCP connection, `delay` seconds late, its first bytes `handshake` later."""
    loop = asyncio.get_running_loop()
    on_the_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(QUEUE)
    connected = loop.time() + handshake

    async def deliver() -> None:
        while True:
            due, data = await on_the_way.get()
            await asyncio.sleep(due - loop.time())
            if not data:
                break
            writer.write(data)
            await writer.drain()
        writer.close()

    delivering = asyncio.create_task(deliver())
    while True:
        data = await reader.read(65536)
        await on_the_way.put((max(loop.time(), connected) + delay, data))
        if not data:
            break
    await delivering


async def tcp(
    settings: dict[str, Any], client: asyncio.StreamReader, to_client: asyncio.StreamWriter
) -> None:
    """One connection."""
    delay = settings["round_trip"] / 2000
    server, to_server = await asyncio.open_connection(settings["address"], settings["port"])
    await asyncio.gather(
        carry(client, to_server, delay, handshake=2 * delay), carry(server, to_client, delay)
    )


class Late(asyncio.DatagramProtocol):
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


class FromServer(Late):
    """The socket that stands for one client towards the server."""

    def __init__(self, delay: float, client: asyncio.DatagramTransport, address: Any) -> None:
        super().__init__(delay)
        self._client, self._address = client, address

    def datagram_received(self, data: bytes, addr: Any) -> None:
        """To the client."""
        self.pass_on(self._client, data, self._address)


class FromClients(Late):
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
