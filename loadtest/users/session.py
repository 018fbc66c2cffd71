"""A session on the stage: joining over a transport, staying, chatting, listening.

Rows, of type `stage` or `ws`:

    connect    until the server has sent SET
    join       from SET until CONFIRM_LOADED
    chat       from sending a chat line until it returns
    heard      from sending a chat line until another session of this process receives it (`chat`)
    stay       failures only: the connection broke, or the server ended the session
"""

import random
import re
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from urllib.parse import parse_qsl, urlencode

from gevent import sleep

from users import chat
from users.connection import SocketConnection, StageError
from users.live_media import LiveMedia
from users.samples import Samples

PATIENCE = 10.0  # seconds until a missing reply counts as lost

MODE = re.compile(rb"(?:^|&)mode=([A-Z_]*)")
CHAT = ("ANONTEXT", "TEXT")

# A thousand sessions receive 20 lines a second as 20,000 frames. Reading each frame immediately would take
# more than one core, and Locust would measure itself. So this many sessions per process read immediately and
# measure `heard`; the others read once a second, unless they wait for a reply.
MEASURING = 20
INTERVAL = 1.0  # seconds
measuring: set["StageSession"] = set()


class StageSession:
    """One session. `connect` opens the transport; a broken transport is reported and raised as StageError.

    `media` fetches the files that the stage announces; it is None for clients without a browser.
    """

    def __init__(
        self,
        samples: Samples,
        options: Namespace,
        connect: Callable[[], SocketConnection],
        media: LiveMedia | None = None,
    ) -> None:
        self.samples = samples
        self.options = options
        self.applause = False  # whether the stage offers the applause button
        self._connect = connect
        self._media = media
        self._connection: SocketConnection | None = None
        self._reload = False  # whether the stage has asked every client to load the page again
        self._speaker = next(chat.speakers)
        self._spoken = 0
        self._listener = chat.Listener()
        # Replies still missing: the words that identify one -> its row, and since when (time.monotonic).
        self._awaited: dict[tuple[str, ...], tuple[str, float]] = {}

    @property
    def connection(self) -> SocketConnection:
        assert self._connection
        return self._connection

    def join(self, key: str) -> None:
        """Connect and join, or raise StageError; `key` comes from /admin/id."""
        with self.samples.timed("connect"):
            self._connection = self._connect()
            self.wait_for("SET")
        if len(measuring) < MEASURING:
            measuring.add(self)
        with self.samples.timed("join"):
            self.send("IDENT", MD5=key)
            self.send("JOIN", stage_ID=self.options.stage)
            self.wait_for("LOAD_CHAT")  # by then the stage has named all its media
            self.send("LOADED")
            self.wait_for("CONFIRM_LOADED")

    def stay(self, seconds: float) -> None:
        """Act for that long, then wait for the missing replies."""
        try:
            self._stay(time.monotonic() + seconds)
        except StageError as error:
            self.samples.record("stay", 0, str(error))
            raise

    def leave(self) -> None:
        measuring.discard(self)
        if self._media:
            self._media.stop()
        if self._connection:
            self._connection.close()

    def actions(self) -> Iterator[float]:
        """Act, and yield the pauses between two actions, in seconds."""
        while self.options.chat_rate > 0:
            yield random.expovariate(self.options.chat_rate / 60)
            if self.applause and random.random() < 0.5:
                self.send("PLAY_APPLAUSE", file="applause.mp3")
            else:
                self.say()
        yield float("inf")

    def say(self) -> None:
        """Send a chat line and expect it back."""
        self._spoken += 1
        words = chat.say(self._speaker, self._spoken)
        self.expect("chat", words)
        self.send("TEXT", msg=words)

    def send(self, mode: str, **fields: str) -> None:
        self.connection.send(urlencode({**fields, "mode": mode}).encode())

    def expect(self, row: str, *what: str) -> None:
        """Report, as a sample of `row`, the time until `came` is called with the same words."""
        self._awaited[what] = (row, time.monotonic())

    def came(self, *what: str) -> None:
        """Report the sample of an expected reply; ignore any other."""
        if what in self._awaited:
            row, since = self._awaited.pop(what)
            self.samples.record(row, (time.monotonic() - since) * 1000)

    def wait_for(self, mode: str) -> None:
        """Read until a frame of this mode arrives; raise StageError if none does."""
        deadline = time.monotonic() + PATIENCE
        while (frame := self.connection.receive(deadline)) is not None:
            if self._read(frame) == mode:
                return
        raise StageError(f"no {mode} within {PATIENCE:g} s")

    def received(self, mode: str, fields: dict[str, str]) -> None:
        """Handle a frame other than chat; raise StageError if the stage rejects or ends this session."""
        if self._media:
            self._media.received(mode, fields)
        if mode == "ERR_DOUBLE_LOGIN":
            if "msg" in fields:
                raise StageError(f"the server rejected --stage={self.options.stage}: {fields['msg']}")
            raise StageError("the account has joined the stage again elsewhere")
        if mode in ("APPLAUSE", "NO_APPLAUSE"):
            self.applause = mode == "APPLAUSE"
        elif mode == "RELOAD":
            self._reload = True

    def _stay(self, end: float) -> None:
        actions = self.actions()
        due = time.monotonic() + next(actions)
        while True:
            now = time.monotonic()
            self._give_up(now)
            active = now < end and not self._reload
            if active and now >= due:
                due = now + next(actions)
                continue
            wakes = [since + PATIENCE for _, since in self._awaited.values()]
            if active:
                wakes += [due, end]
            elif not wakes:
                return
            self._listen(now, min(wakes))

    def _listen(self, now: float, until: float) -> None:
        if self in measuring or self._awaited:
            frame = self.connection.receive(until)
            frames = iter(()) if frame is None else iter((frame,))
        else:
            sleep(min(INTERVAL, until - now))
            frames = self.connection.waiting()
        for frame in frames:
            self._read(frame)

    def _give_up(self, now: float) -> None:
        """Report overdue replies as lost."""
        for what, (row, since) in list(self._awaited.items()):
            if now - since >= PATIENCE:
                del self._awaited[what]
                self.samples.record(row, PATIENCE * 1000, f"did not come back within {PATIENCE:g} s")

    def _read(self, frame: bytes) -> str:
        """Handle one frame; return its mode."""
        found = MODE.search(frame)
        mode = found[1].decode() if found else ""
        listening = self in measuring or self._awaited
        if mode == "LOAD_CHAT" or (mode in CHAT and not listening):
            return mode  # chat from before the join, or chat that this session does not measure
        fields = dict(parse_qsl(frame.decode("utf-8", "replace"), keep_blank_values=True))
        if mode in CHAT:
            self._read_line(fields.get("text", ""), len(frame))
        else:
            self.received(mode, fields)
        return mode

    def _read_line(self, words: str, length: int) -> None:
        line = chat.lines.get(words)
        if line is None:
            return  # the line was sent by another process, or by a person
        if line.speaker == self._speaker:
            self.came(words)
        elif self in measuring:
            self.samples.record("heard", *self._listener.hear(line, time.monotonic()), length)
