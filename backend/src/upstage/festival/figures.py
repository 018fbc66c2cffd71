"""Avatars and props: drawn on a grid of small units, then cut out of paper."""

from collections.abc import Callable

from PIL import Image, ImageDraw

from upstage.festival.acts import Puppet
from upstage.festival.paper import GOLD, INK, PAPER, cut_out, png
from upstage.festival.props import Marks

AVATAR = (60, 100)  # units, as the avatars of the demo stage
PROP = (40, 40)
SCALE = 9  # pixels of a drawing for one unit; the cut-out has half as many
GRAIN = 0.11


class Pen:
    """Draws in units."""

    def __init__(self, size: tuple[int, int], scale: int = SCALE) -> None:
        self.drawing = Image.new("RGBA", (size[0] * scale, size[1] * scale))
        self._scale = scale
        self._draw = ImageDraw.Draw(self.drawing)

    def _pixels(self, values: tuple[float, ...]) -> list[float]:
        return [value * self._scale for value in values]

    def shape(self, colour: str, *points: float) -> None:
        """A polygon: x, y, x, y and so on."""
        self._draw.polygon(self._pixels(points), fill=colour)

    def oval(self, colour: str, x: float, y: float, wide: float, high: float) -> None:
        """An ellipse around x, y with these half axes."""
        self._draw.ellipse(self._pixels((x - wide, y - high, x + wide, y + high)), fill=colour)

    def line(self, colour: str, width: float, *points: float) -> None:
        """A line with round corners and ends."""
        self._draw.line(self._pixels(points), fill=colour, width=round(width * self._scale))
        for x, y in zip(points[::2], points[1::2], strict=True):
            self.oval(colour, x, y, width / 2, width / 2)

    def arc(
        self, colour: str, x: float, y: float, wide: float, high: float, start: int, end: int, width: int = 1
    ) -> None:
        """A part of an ellipse's line; angles in degrees, clockwise from the right."""
        box = self._pixels((x - wide, y - high, x + wide, y + high))
        self._draw.arc(box, start, end, fill=colour, width=width * self._scale)


def avatar(puppet: Puppet) -> bytes:
    """Draw a puppet as a PNG."""
    pen = Pen(AVATAR)
    if puppet.hair_is_long:
        pen.oval(puppet.hair, 30, 29, 12, 16)
    BODIES[puppet.body](pen, puppet.colour, puppet.second)
    elbow, (hand_x, hand_y) = ((46, 49), (50, 34)) if puppet.waves else ((45, 52), (46, 61))
    pen.line(puppet.colour, 6.5, 21, 42, 15, 52, 14, 61)
    pen.line(puppet.colour, 6.5, 39, 42, *elbow, hand_x, hand_y)
    pen.oval(puppet.skin, 14, 64, 3.4, 3.6)
    pen.oval(puppet.skin, hand_x + 0.5, hand_y - 3 if puppet.waves else hand_y + 3, 3.4, 3.6)
    pen.shape(puppet.skin, 27, 28, 33, 28, 34, 36, 26, 36)
    pen.oval(puppet.hair, 30, 19, 10.4, 10.6)
    pen.oval(puppet.skin, 30, 22, 8.6, 9.6)
    for x in (26.5, 33.5):
        pen.oval(INK, x, 21.5, 0.95, 1.25)
        pen.oval("#d9705f", x + (x - 30) * 0.5, 25, 1.5, 1.1)
    pen.arc("#7d2430", 30, 25.5, 3, 2.4, 20, 160)
    HATS[puppet.hat](pen, puppet.second)
    return png(cut_out(pen.drawing, GRAIN))


def _gown(pen: Pen, colour: str, second: str) -> None:
    pen.shape(colour, 24, 52, 36, 52, 55, 95, 42, 98, 18, 98, 5, 95)
    pen.shape(second, 28, 54, 32, 54, 38, 98, 22, 98)
    pen.shape(colour, 20, 37, 40, 37, 37, 54, 23, 54)
    pen.line(GOLD, 2, 23.5, 53, 36.5, 53)


def _coat(pen: Pen, colour: str, second: str) -> None:
    pen.line(INK, 7.5, 25, 70, 24, 94)
    pen.line(INK, 7.5, 35, 70, 36, 94)
    pen.oval(INK, 21, 96, 6, 2.6)
    pen.oval(INK, 39, 96, 6, 2.6)
    pen.shape(colour, 19, 37, 41, 37, 45, 76, 15, 76)
    pen.shape(second, 26, 37, 34, 37, 30, 52)
    for y in (55, 62, 69):
        pen.oval(GOLD, 30, y, 1.3, 1.3)


def _robe(pen: Pen, colour: str, second: str) -> None:
    pen.shape(colour, 20, 37, 40, 37, 49, 97, 11, 97)
    pen.shape(second, 27, 37, 33, 37, 34, 97, 26, 97)
    pen.line(second, 3, 13.5, 91, 46.5, 91)
    pen.line(GOLD, 1.6, 17.5, 62, 42.5, 62)


def _tunic(pen: Pen, colour: str, second: str) -> None:
    pen.line(second, 6.5, 25.5, 64, 24, 93)
    pen.line(second, 6.5, 34.5, 64, 36, 93)
    pen.oval(INK, 22, 96, 5.4, 2.4)
    pen.oval(INK, 38, 96, 5.4, 2.4)
    pen.shape(colour, 20, 37, 40, 37, 44, 68, 38, 64, 34, 70, 30, 65, 26, 70, 22, 64, 16, 68)
    pen.line(INK, 2.6, 19.5, 56, 40.5, 56)
    pen.oval(GOLD, 30, 56, 2, 2)


def _bare(pen: Pen, colour: str) -> None:
    """No hat."""


def _crown(pen: Pen, colour: str) -> None:
    pen.shape(GOLD, 20.5, 14, 19, 3, 24.5, 8.5, 30, 1, 35.5, 8.5, 41, 3, 39.5, 14)
    for x in (24.5, 30, 35.5):
        pen.oval(colour, x, 11.4, 1.2, 1.2)


def _top_hat(pen: Pen, colour: str) -> None:
    pen.shape(INK, 23, 0.5, 37, 0.5, 36, 13, 24, 13)
    pen.shape(colour, 23.7, 9, 36.3, 9, 36, 12, 24, 12)
    pen.oval(INK, 30, 13.5, 13, 2)


def _hood(pen: Pen, colour: str) -> None:
    pen.shape(colour, 30, 3, 41, 12, 42, 35, 37.5, 33, 38.5, 18, 30, 12, 21.5, 18, 22.5, 33, 18, 35, 19, 12)


def _cap(pen: Pen, colour: str) -> None:
    pen.shape(colour, 19.5, 14, 19, 8, 24, 4, 36, 4, 41, 8, 40.5, 14)
    pen.shape(INK, 19.5, 12.5, 40.5, 12.5, 44, 16, 19.5, 15.5)
    pen.oval(GOLD, 30, 9, 1.8, 1.8)


def _pointed(pen: Pen, colour: str) -> None:
    pen.shape(colour, 30, 0.2, 38, 14, 22, 14)
    pen.oval(colour, 30, 14, 14, 2.4)
    pen.line(GOLD, 1.4, 23.5, 12, 36.5, 12)


def _horns(pen: Pen, colour: str) -> None:
    pen.shape(PAPER, 22, 12, 14, 9, 15, 1, 19, 6, 25, 9)
    pen.shape(PAPER, 38, 12, 46, 9, 45, 1, 41, 6, 35, 9)
    pen.shape(colour, 20, 16, 21, 9, 30, 6, 39, 9, 40, 16, 30, 12.5)


def _wreath(pen: Pen, colour: str) -> None:
    for n, x in enumerate((20.5, 23.5, 27.5, 32.5, 36.5, 39.5)):
        pen.oval("#5d8a5a" if n % 2 else colour, x, 12.5 + abs(x - 30) * 0.35 - 2.5, 2.7, 2.3)


def _bun(pen: Pen, colour: str) -> None:
    pen.oval(INK, 30, 7, 5.5, 5)
    pen.line(colour, 1.4, 22, 3, 38, 10)


def _helmet(pen: Pen, colour: str) -> None:
    pen.arc(colour, 30, 20.5, 14.5, 15, 0, 360, 4)
    pen.arc(PAPER, 30, 21, 9.5, 9.5, 190, 260)


BODIES: dict[str, Callable[[Pen, str, str], None]] = {
    "gown": _gown,
    "coat": _coat,
    "robe": _robe,
    "tunic": _tunic,
}
HATS: dict[str, Callable[[Pen, str], None]] = {
    "bare": _bare,
    "crown": _crown,
    "top hat": _top_hat,
    "hood": _hood,
    "cap": _cap,
    "pointed": _pointed,
    "horns": _horns,
    "wreath": _wreath,
    "bun": _bun,
    "helmet": _helmet,
}


def prop(marks: Marks) -> bytes:
    """Draw a prop as a PNG."""
    pen = Pen(PROP, 18)
    for mark, colour, numbers in marks:
        getattr(pen, mark)(colour, *numbers)
    return png(cut_out(pen.drawing, GRAIN))
