"""Webcam pictures: the files that a player may store, and the check that each is a JPEG."""

import re
import time
from collections import Counter
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

from twisted.protocols import ftp

from upstage.stage.pixels import TooLarge, size_of
from upstage.stage.players import Player

MAX_SIZE = 300_000  # bytes of a picture
MIN_INTERVAL = 0.5  # seconds between two pictures of a player; clients get at most three in two seconds
PICTURE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}\.jpg")  # the file name of a player's picture
JPEG_START, JPEG_END = b"\xff\xd8\xff", b"\xff\xd9"


class Rejected(ftp.FTPCmdError):
    """A rejected picture or login; the message gives the reason."""

    errorCode = ftp.REQ_ACTN_NOT_TAKEN


class Pictures:
    """The folder of webcam frames, and the rules for writing to it.

    `arrived` is called for each picture, with its file name, its player and its size in bytes.
    """

    def __init__(
        self,
        folder: Path,
        clock: Callable[[], float] = time.monotonic,
        arrived: Callable[[str, str, int], None] = lambda name, player, size: None,
    ) -> None:
        self._folder = folder
        self._arrived = arrived
        self._clock = clock
        self._last: dict[str, float] = {}  # when each player sent a picture; bounded by the number of players
        self.outcomes = Counter(stored=0, rejected=0)

    def allow(self, player: Player, name: str) -> None:
        """Raise Rejected unless `player` may write file `name` now; administrators may write any picture."""
        own = f"{player.name}.jpg"
        if name != own and not (player.can_su and PICTURE.fullmatch(name)):
            raise Rejected(f"your picture is {own}")
        if self._clock() - self._last.get(player.name, -MIN_INTERVAL) < MIN_INTERVAL:
            raise Rejected(f"one picture in {MIN_INTERVAL} s is enough")

    def take(self, player: Player, name: str, data: bytes) -> None:
        """Store a picture atomically. Raise Rejected if it is not a complete JPEG, is too large, or cannot be
        stored.
        """
        if not is_jpeg(data):
            raise Rejected("this is not a complete JPEG")
        try:
            size_of(BytesIO(data))
        except TooLarge as error:
            raise Rejected(str(error)) from None
        self._last[player.name] = self._clock()
        new = self._folder / f".{name}.new"
        try:
            new.write_bytes(data)
            new.replace(self._folder / name)
        except OSError as error:
            raise Rejected(f"it could not be stored: {error.strerror}") from error
        self._arrived(name, player.name, len(data))


def starts_as_jpeg(data: bytes | bytearray) -> bool:
    """Return whether data can be the beginning of a JPEG: "start of image", then another marker."""
    return JPEG_START.startswith(data[: len(JPEG_START)])


def is_jpeg(data: bytes | bytearray) -> bool:
    """Return whether data is a JPEG, from its first marker to its last; some cameras add zeros."""
    return data.startswith(JPEG_START) and data.rstrip(b"\0").endswith(JPEG_END)
