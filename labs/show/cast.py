"""A small cast on the stage that talks by the clock, and the time until each hears itself."""

import asyncio
import time
from contextlib import suppress
from types import TracebackType
from typing import Self

# How a proxy in front of the stage says who is calling (docs/wire-protocol.md); without one we do.
PROXY = b"PROXY TCP4 127.0.0.1 127.0.0.1 1 1\r\n"
PATIENCE = 10.0  # seconds to get a seat, and for the last line to be heard


class Seat:
    """One connection to the stage, and the lines it has heard, each with its time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.heard: dict[str, float] = {}

    def send(self, frame: bytes) -> None:
        """One frame, given without its NUL."""
        self._writer.write(frame + b"\0")

    async def until(self, mode: bytes) -> None:
        """Read up to a frame of this mode. EOFError if the stage hangs up."""
        while not (await self._reader.readuntil(b"\0")).endswith(b"mode=" + mode + b"\0"):
            pass

    async def listen(self) -> None:
        """Note when each line of the cast is heard, until the stage hangs up or nobody listens any more."""
        while frame := await self._reader.readuntil(b"\0"):
            if frame.startswith(b"text=line-"):
                self.heard[frame[5 : frame.index(b"&")].decode()] = time.perf_counter()

    def close(self) -> None:
        """Leave."""
        self._writer.close()


class Cast:
    """`size` of them, seated from `async with` on; `proxied` if a proxy will say who they are."""

    def __init__(self, address: str, port: int, proxied: bool, stage: str, size: int) -> None:
        self._address = (address, port)
        self._proxied = proxied
        self._stage = stage
        self._size = size
        self._seats: list[Seat] = []
        self.milliseconds: list[float] = []
        self.late_milliseconds: list[float] = []

    async def __aenter__(self) -> Self:
        async with asyncio.timeout(PATIENCE):
            for _ in range(self._size):
                self._seats.append(await self._enter())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for seat in self._seats:
            seat.close()

    async def _enter(self) -> Seat:
        reader, writer = await asyncio.open_connection(*self._address, limit=1 << 20)
        if not self._proxied:
            writer.write(PROXY)
        seat = Seat(reader, writer)
        seat.send(b"stage_ID=" + self._stage.encode() + b"&mode=JOIN")
        seat.send(b"mode=LOADED")
        await seat.until(b"CONFIRM_LOADED")
        return seat

    async def talk(self, lines_per_second: float, seconds: float) -> None:
        """They speak in turn, by the clock, and wait for nobody. EOFError if anybody has missed a line.

        Fills `milliseconds`, for each line the time until its speaker has heard it, and `late_milliseconds`,
        how long after its turn it was said: our own share, which a busy machine adds again when we listen.
        """
        listening = [asyncio.create_task(seat.listen()) for seat in self._seats]
        said: list[tuple[Seat, str, float]] = []
        begin = time.perf_counter()
        for number in range(round(lines_per_second * seconds)):
            due = begin + number / lines_per_second
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            seat, line, now = self._seats[number % self._size], f"line-{number}", time.perf_counter()
            seat.send(f"msg={line}&mode=TEXT".encode())
            said.append((seat, line, now))
            self.late_milliseconds.append((now - due) * 1000)
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                while any(len(seat.heard) < len(said) for seat in self._seats):
                    await asyncio.sleep(0.05)
        for task in listening:
            task.cancel()
        missed = sum(len(said) - len(seat.heard) for seat in self._seats)
        if missed:
            raise EOFError(f"{missed} of {len(said) * self._size} lines were not heard")
        self.milliseconds = [(seat.heard[line] - begin) * 1000 for seat, line, begin in said]
