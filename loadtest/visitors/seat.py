"""A seat in the house: joining the stage over a line, staying, saying something, listening.

Rows, of type `stage` or `ws`:

    connect    until the server has said SET
    join       from then on until CONFIRM_LOADED
    chat       from a line of one's own until it comes back
    heard      from anybody's line until another listener of this process has it (`chat`)
    stay       only failures: the line broke, or the server took the seat away
"""

import random
import re
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from urllib.parse import parse_qsl, urlencode

from gevent import sleep

from visitors import chat
from visitors.line import LineError, SocketLine
from visitors.samples import Samples

PATIENCE = 10.0  # seconds until what should come counts as lost

MODE = re.compile(rb"(?:^|&)mode=([A-Z_]*)")
CHAT = ("ANONTEXT", "TEXT")

# A thousand listeners hear 20 lines a second as 20,000 frames. To read each at once would take more than one
# core, and the generator would measure itself. So in each process this many listen closely, and their delays
# are `heard`; the others look once a second at what has come, unless they wait for something of their own.
ATTENTIVE = 20
GLANCE = 1.0  # seconds
attentive: set["Seat"] = set()


class Seat:
    """One visitor's seat. `dial` opens the line; what breaks it is reported, and raised as a LineError."""

    def __init__(self, samples: Samples, options: Namespace, dial: Callable[[], SocketLine]) -> None:
        self.samples = samples
        self.options = options
        self.applause = False  # whether there is a button
        self._dial = dial
        self._line: SocketLine | None = None
        self._over = False  # everybody shall load the page anew
        self._speaker = next(chat.speakers)
        self._spoken = 0
        self._ear = chat.Ear()
        # What was done and has not come back yet: what to look for -> its row, and when (time.monotonic).
        self._awaited: dict[tuple[str, ...], tuple[str, float]] = {}

    @property
    def line(self) -> SocketLine:
        """The open line; without one this is a mistake of ours."""
        assert self._line
        return self._line

    def take(self, key: str) -> None:
        """Connect and join; `key` is that of /admin/id."""
        with self.samples.timed("connect"):
            self._line = self._dial()
            self.wait_for("SET")
        if len(attentive) < ATTENTIVE:
            attentive.add(self)
        with self.samples.timed("join"):
            self.send("IDENT", MD5=key)
            self.send("JOIN", stage_ID=self.options.stage)
            self.wait_for("LOAD_CHAT")  # by now all pictures have been named
            self.send("LOADED")
            self.wait_for("CONFIRM_LOADED")

    def stay(self, seconds: float) -> None:
        """Play one's part that long; then wait for what has not come back yet."""
        try:
            self._stay(time.monotonic() + seconds)
        except LineError as error:
            self.samples.took("stay", 0, str(error))
            raise

    def leave(self) -> None:
        """Hang up."""
        attentive.discard(self)
        if self._line:
            self._line.close()

    def part(self) -> Iterator[float]:
        """What this visitor does: pauses in seconds, with something done between them."""
        while self.options.chat_rate > 0:
            yield random.expovariate(self.options.chat_rate / 60)
            if self.applause and random.random() < 0.5:
                self.send("PLAY_APPLAUSE", file="applause.mp3")
            else:
                self.say()
        yield float("inf")

    def say(self) -> None:
        """Say a line, and wait for it to come back."""
        self._spoken += 1
        words = chat.say(self._speaker, self._spoken)
        self.expect("chat", words)
        self.send("TEXT", msg=words)

    def send(self, mode: str, **fields: str) -> None:
        """Send one frame."""
        self.line.send(urlencode({**fields, "mode": mode}).encode())

    def expect(self, row: str, *what: str) -> None:
        """Report how long it takes until `came` is told the same."""
        self._awaited[what] = (row, time.monotonic())

    def came(self, *what: str) -> None:
        """Something has come that may have been expected."""
        if what in self._awaited:
            row, since = self._awaited.pop(what)
            self.samples.took(row, (time.monotonic() - since) * 1000)

    def wait_for(self, mode: str) -> None:
        """Listen until a frame of this mode has come; LineError if it does not."""
        deadline = time.monotonic() + PATIENCE
        while (frame := self.line.receive(deadline)) is not None:
            if self._hear(frame) == mode:
                return
        raise LineError(f"no {mode} within {PATIENCE:g} s")

    def got(self, mode: str, fields: dict[str, str]) -> None:
        """Anything but chat has come."""
        if mode == "ERR_DOUBLE_LOGIN":
            reason = fields.get("msg", "somebody else has it")
            raise LineError(f"the server refused the seat: {reason}")
        if mode in ("APPLAUSE", "NO_APPLAUSE"):
            self.applause = mode == "APPLAUSE"
        elif mode == "RELOAD":
            self._over = True

    def _stay(self, end: float) -> None:
        part = self.part()
        due = time.monotonic() + next(part)
        while True:
            now = time.monotonic()
            self._give_up(now)
            playing = now < end and not self._over
            if playing and now >= due:
                due = now + next(part)
                continue
            wakes = [since + PATIENCE for _, since in self._awaited.values()]
            if playing:
                wakes += [due, end]
            elif not wakes:
                return
            self._listen(now, min(wakes))

    def _listen(self, now: float, until: float) -> None:
        if self in attentive or self._awaited:
            frame = self.line.receive(until)
            frames = iter(()) if frame is None else iter((frame,))
        else:
            sleep(min(GLANCE, until - now))
            frames = self.line.waiting()
        for frame in frames:
            self._hear(frame)

    def _give_up(self, now: float) -> None:
        """Report what has not come back in time."""
        for what, (row, since) in list(self._awaited.items()):
            if now - since >= PATIENCE:
                del self._awaited[what]
                self.samples.took(row, PATIENCE * 1000, f"did not come back within {PATIENCE:g} s")

    def _hear(self, frame: bytes) -> str:
        """Take note of one frame; answers with its mode."""
        found = MODE.search(frame)
        mode = found[1].decode() if found else ""
        listening = self in attentive or self._awaited
        if mode == "LOAD_CHAT" or (mode in CHAT and not listening):
            return mode  # said before we came, or nothing to us
        fields = dict(parse_qsl(frame.decode("utf-8", "replace"), keep_blank_values=True))
        if mode in CHAT:
            self._hear_line(fields.get("text", ""), len(frame))
        else:
            self.got(mode, fields)
        return mode

    def _hear_line(self, words: str, length: int) -> None:
        line = chat.lines.get(words)
        if line is None:
            return  # somebody else's
        if line.speaker == self._speaker:
            self.came(words)
        elif self in attentive:
            self.samples.took("heard", *self._ear.hear(line, time.monotonic()), length)
