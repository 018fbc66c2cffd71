"""The test picture of the simulated camera."""

import math
from datetime import datetime
from functools import cache
from io import BytesIO

from PIL import Image, ImageDraw, ImageFont

SIZE = (320, 240)
PAPER, INK, RED, GOLD = "#f6e7cb", "#1f1b2e", "#b23a2e", "#e0a13a"
BARS = (PAPER, GOLD, "#4fa3a5", "#5d8a5a", "#7d2430", RED, "#33264a", INK)


def picture(now: datetime) -> bytes:
    """Return the test picture for a moment as a JPEG: colour bars, a clock and a ball that bounces."""
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
    """Return the tip of a clock hand after this fraction of a turn."""
    return 160 + length * math.sin(turn * 2 * math.pi), 82 - length * math.cos(turn * 2 * math.pi)


@cache
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)
