"""`python -m upstage.camera`: a simulated camera, which uploads a test picture by FTP twice a second.

It is a client like any webcam program, and signs in with the account that the server has made for load tests.

CAMERA_SERVER          HOST:PORT of the FTP listener
LOADTEST_ACCOUNT_FILE  the account, as one line NAME:PASSWORD
CAMERA_STAMP           a file touched after each picture; `python -m upstage.camera check` looks at its age
"""

import ftplib
import math
import os
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from io import BytesIO
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

SIZE = (320, 240)
PAPER, INK, RED, GOLD = "#f6e7cb", "#1f1b2e", "#b23a2e", "#e0a13a"
BARS = (PAPER, GOLD, "#4fa3a5", "#5d8a5a", "#7d2430", RED, "#33264a", INK)
EVERY = 0.5  # seconds from one picture to the next: the server takes no more
TIMEOUT = 10.0  # seconds for each answer of the server
# Seconds until the next attempt. After a rejected password it is long enough not to be locked out.
RETRY, RETRY_REJECTED = 1.0, 10.0
FRESH = 15.0  # seconds: a picture that old means that the camera has stopped


def picture(now: datetime) -> bytes:
    """Return the test picture of a moment as a JPEG: colour bars, a clock and a ball that bounces."""
    image = Image.new("RGB", SIZE, INK)
    pen = ImageDraw.Draw(image)
    for n, colour in enumerate(BARS):
        pen.rectangle((40 * n, 0, 40 * n + 40, 150), fill=colour)
    seconds = now.second + now.microsecond / 1e6
    pen.circle((160, 82), 66, fill=PAPER, outline=INK, width=4)
    for n in range(12):
        pen.line((*_hand(n / 12, 52), *_hand(n / 12, 60)), fill=INK, width=3)
    pen.line((160, 82, *_hand((now.hour + now.minute / 60) / 12, 34)), fill=INK, width=7)
    pen.line((160, 82, *_hand((now.minute + seconds / 60) / 60, 48)), fill=INK, width=5)
    pen.line((160, 82, *_hand(seconds / 60, 56)), fill=RED, width=3)
    pen.circle((160, 82), 5, fill=RED)
    phase = seconds / 3 % 1
    pen.circle((24 + 272 * abs(2 * phase - 1), 168 - 14 * abs(math.sin(phase * 12.6))), 9, fill=GOLD)
    pen.text(
        (160, 202), f"{now:%H:%M:%S}.{now.microsecond // 100_000}", fill=PAPER, font=_font(30), anchor="mm"
    )
    pen.text((160, 228), "test picture, UTC", fill=GOLD, font=_font(14), anchor="mm")
    file = BytesIO()
    image.save(file, "JPEG", quality=85)
    return file.getvalue()


def _hand(turn: float, length: float) -> tuple[float, float]:
    """The end of a hand after a part of a turn."""
    return 160 + length * math.sin(turn * 2 * math.pi), 82 - length * math.cos(turn * 2 * math.pi)


@cache
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


def upload(server: str, account: Path, stamp: Path) -> Iterator[None]:
    """Sign in and upload pictures, one at each step; raise OSError, EOFError or ftplib.Error."""
    host, _, port = server.rpartition(":")
    name, _, password = account.read_text("utf-8").strip().partition(":")
    with ftplib.FTP(timeout=TIMEOUT) as client:
        client.connect(host, int(port))
        client.login(name, password)
        while True:
            client.storbinary(f"STOR {name}.jpg", BytesIO(picture(datetime.now(UTC))))
            stamp.touch()
            yield


def run(server: str, account: Path, stamp: Path) -> None:
    """Upload for ever. Each change is a line of the log: connected, or why not."""
    said = ""
    stamp.unlink(missing_ok=True)  # of an earlier run

    def say(line: str) -> None:
        nonlocal said
        if line != said:
            print(said := line, flush=True)

    while True:
        try:
            for _ in upload(server, account, stamp):
                say(f"pictures are uploaded to {server}")
                time.sleep(EVERY)
        except ftplib.all_errors as error:  # OSError and EOFError are among them
            say(f"no picture was uploaded: {error or 'the connection was closed'}")
            time.sleep(RETRY_REJECTED if isinstance(error, ftplib.error_perm) else RETRY)


def main(arguments: list[str]) -> int:
    """Run, or check the age of the last picture; return the exit status."""
    stamp = Path(os.environ.get("CAMERA_STAMP", "/tmp/camera"))
    if arguments == ["check"]:
        return int(not stamp.exists() or time.time() - stamp.stat().st_mtime > FRESH)
    account = Path(os.environ.get("LOADTEST_ACCOUNT_FILE", "/run/player/account"))
    run(os.environ.get("CAMERA_SERVER", "webcam:2121"), account, stamp)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
