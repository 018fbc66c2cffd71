"""Clients on a stage that send lines on schedule, and measure how long each line takes to return."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Self

# The header with which a proxy passes on the client's address (docs/wire-protocol.md); without a proxy, the
# client sends it.
PROXY = b"PROXY TCP4 127.0.0.1 127.0.0.1 1 1\r\n"
TIMEOUT = 10.0  # seconds for all clients to join, and for the last line to arrive


class StageConnection:
    """One connection to the stage, and the lines it has received, each with its time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.received: dict[str, float] = {}

    def send(self, frame: bytes) -> None:
        """Send a frame, given without its NUL."""
        self._writer.write(frame + b"\0")

    async def until(self, mode: bytes) -> None:
        """Read up to and with a frame of this mode. Raise EOFError if the server closes the connection."""
        while not (await self._reader.readuntil(b"\0")).endswith(b"mode=" + mode + b"\0"):
            pass

    async def listen(self) -> None:
        """Note when each line arrives, until the task is cancelled or the server closes the connection."""
        while frame := await self._reader.readuntil(b"\0"):
            if frame.startswith(b"text=line-"):
                self.received[frame[5 : frame.index(b"&")].decode()] = time.perf_counter()

    def close(self) -> None:
        """Close the connection."""
        self._writer.close()


class Speakers:
    """`number` clients, joined by `async with`; `proxied` if a proxy announces their addresses."""

    def __init__(self, address: str, port: int, proxied: bool, stage: str, number: int) -> None:
        self._address = (address, port)
        self._proxied = proxied
        self._stage = stage
        self._number = number
        self._connections: list[StageConnection] = []
        self.milliseconds: list[float] = []
        self.late_milliseconds: list[float] = []

    async def __aenter__(self) -> Self:
        async with asyncio.timeout(TIMEOUT):
            for _ in range(self._number):
                self._connections.append(await self._join())
        return self

    async def __aexit__(self, *_: object) -> None:
        for connection in self._connections:
            connection.close()

    async def _join(self) -> StageConnection:
        reader, writer = await asyncio.open_connection(*self._address, limit=1 << 20)
        if not self._proxied:
            writer.write(PROXY)
        connection = StageConnection(reader, writer)
        connection.send(b"stage_ID=" + self._stage.encode() + b"&mode=JOIN")
        connection.send(b"mode=LOADED")
        await connection.until(b"CONFIRM_LOADED")
        return connection

    async def talk(
        self, lines_per_second: float, seconds: float, over: Callable[[], bool] = lambda: False
    ) -> None:
        """Speak in turn, on schedule, for `seconds` or until `over`, and note each line's milliseconds. Raise
        EOFError if a client misses a line.
        """
        listening = [asyncio.create_task(connection.listen()) for connection in self._connections]
        said: list[tuple[StageConnection, str, float]] = []
        begin = time.perf_counter()
        for number in range(round(lines_per_second * seconds)):
            due = begin + number / lines_per_second
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            if over():
                break
            speaker, line = self._connections[number % self._number], f"line-{number}"
            now = time.perf_counter()
            speaker.send(f"msg={line}&mode=TEXT".encode())
            said.append((speaker, line, now))
            self.late_milliseconds.append((now - due) * 1000)
        with suppress(TimeoutError):
            async with asyncio.timeout(TIMEOUT):
                while any(len(connection.received) < len(said) for connection in self._connections):
                    await asyncio.sleep(0.05)
        for task in listening:
            task.cancel()
        missed = sum(len(said) - len(connection.received) for connection in self._connections)
        if missed:
            raise EOFError(f"{missed} of {len(said) * self._number} lines were not received")
        self.milliseconds = [(speaker.received[line] - sent) * 1000 for speaker, line, sent in said]
