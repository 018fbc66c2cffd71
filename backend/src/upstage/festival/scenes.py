"""Backdrops: a sky, a sun or a moon, and layers of paper one in front of another."""

import math
from collections.abc import Callable
from random import Random

from PIL import Image, ImageDraw

from upstage.festival.acts import Scene
from upstage.festival.paper import LIT, SIZE, grained, jpeg, lay

WIDTH, HEIGHT = SIZE
GRAIN = 0.42
STEP = 8  # pixels between two points of an outline

Point = tuple[float, float]
Shape = Callable[[ImageDraw.ImageDraw, Random, float], None]


def backdrop(name: str, scene: Scene) -> bytes:
    """Draw a scene as a JPEG; `name` varies its outlines."""
    random = Random(name)
    above, below = (Image.new("RGB", SIZE, colour) for colour in scene.sky)
    picture = Image.composite(below, above, Image.linear_gradient("L").resize(SIZE))
    colour, x, y = scene.disc
    light = ImageDraw.Draw(picture, "RGBA")
    light.circle((x * WIDTH, y * HEIGHT), 210, fill=colour + "46")
    light.circle((x * WIDTH, y * HEIGHT), 150, fill=colour)
    for layer in scene.layers:
        shape = Image.new("L", SIZE)
        SHAPES[layer.shape](ImageDraw.Draw(shape), random, layer.top * HEIGHT)
        lay(picture, shape, layer.colour)
    return jpeg(grained(picture, GRAIN))


def _ground(pen: ImageDraw.ImageDraw, edge: Callable[[float], float]) -> None:
    """Everything below an edge."""
    points = [(float(x), edge(x)) for x in range(0, WIDTH + STEP, STEP)]
    pen.polygon([(0.0, HEIGHT), *points, (WIDTH, HEIGHT)], fill=255)


def hills(pen: ImageDraw.ImageDraw, random: Random, top: float) -> None:
    """Rolling hills, or dunes."""
    waves = [(random.uniform(0.7, 1.6) * n, random.uniform(0, 6.3), 70 / n) for n in (1, 2, 4)]

    def edge(x: float) -> float:
        return top + sum(
            high * (1 - math.sin(x / WIDTH * 6.3 * often + start)) for often, start, high in waves
        )

    _ground(pen, edge)


def peaks(pen: ImageDraw.ImageDraw, random: Random, top: float) -> None:
    """Mountains."""
    points: list[Point] = [(0, top + 180)]
    x = 0.0
    while x < WIDTH:
        x += random.uniform(70, 150)
        points.append((x, top + random.uniform(0, 110)))
        x += random.uniform(70, 150)
        points.append((x, top + random.uniform(150, 250)))
    pen.polygon([(0, HEIGHT), *points, (WIDTH + 300, HEIGHT)], fill=255)


def waves(pen: ImageDraw.ImageDraw, random: Random, top: float) -> None:
    """Scallops of water."""
    long, start = random.uniform(150, 260), random.uniform(0, 200)
    _ground(pen, lambda x: top + 55 * abs(math.sin((x + start) / long * math.pi)))


def skyline(pen: ImageDraw.ImageDraw, random: Random, top: float) -> None:
    """Houses with windows, some with a gable."""
    x = -20.0
    while x < WIDTH:
        width, roof = random.uniform(90, 190), top + random.uniform(0, 220)
        pen.rectangle((x, roof, x + width, HEIGHT), fill=255)
        if random.random() < 0.5:
            pen.polygon([(x - 8, roof), (x + width / 2, roof - 90), (x + width + 8, roof)], fill=255)
        for row in range(4):
            for column in (0.2, 0.6):
                if random.random() < 0.6:
                    left, upper = x + column * width, roof + 40 + 75 * row
                    pen.rectangle((left, upper, left + 0.2 * width, upper + 40), fill=LIT)
        x += width
    pen.rectangle((0, top + 420, WIDTH, HEIGHT), fill=255)


def firs(pen: ImageDraw.ImageDraw, random: Random, top: float) -> None:
    """A forest of firs."""
    x = -60.0
    while x < WIDTH + 60:
        tip, wide = top + random.uniform(0, 160), random.uniform(60, 100)
        for branch in range(3):
            foot = tip + 130 + 110 * branch
            half = wide * (0.6 + 0.3 * branch)
            pen.polygon([(x, tip + 70 * branch), (x - half, foot), (x + half, foot)], fill=255)
        pen.rectangle((x - 12, tip + 300, x + 12, HEIGHT), fill=255)
        x += random.uniform(80, 180)
    _ground(pen, lambda x: top + 430 + 20 * math.sin(x / 170))


def orchard(pen: ImageDraw.ImageDraw, random: Random, top: float) -> None:
    """Round trees on a meadow."""
    x = 0.0
    while x < WIDTH:
        y, radius = top + random.uniform(60, 170), random.uniform(70, 120)
        for turn in range(5):
            around = turn / 5 * 2 * math.pi
            pen.circle(
                (x + 0.6 * radius * math.cos(around), y + 0.5 * radius * math.sin(around)), 0.7 * radius, 255
            )
        pen.rectangle((x - 14, y, x + 14, HEIGHT), fill=255)
        x += random.uniform(190, 330)
    _ground(pen, lambda x: top + 380 + 30 * math.sin(x / 260))


def columns(pen: ImageDraw.ImageDraw, random: Random, top: float) -> None:
    """A temple: columns between a frieze and steps."""
    pen.polygon([(WIDTH * 0.08, top), (WIDTH * 0.5, top - 170), (WIDTH * 0.92, top)], fill=255)
    pen.rectangle((WIDTH * 0.1, top, WIDTH * 0.9, top + 70), fill=255)
    for n in range(7):
        x = WIDTH * (0.14 + 0.12 * n)
        pen.rectangle((x - 42, top + 70, x + 42, top + 110), fill=255)
        pen.rectangle((x - 30, top + 70, x + 30, HEIGHT), fill=255)
    for step in range(3):
        pen.rectangle((60 - 60 * step, top + 560 + 45 * step, WIDTH - 60 + 60 * step, HEIGHT), fill=255)


def clouds(pen: ImageDraw.ImageDraw, random: Random, top: float) -> None:
    """Clouds with a flat base."""
    for _ in range(6):
        x, y, wide = random.uniform(0, WIDTH), top + random.uniform(0, 260), random.uniform(60, 110)
        for part, size in ((-1.1, 0.6), (-0.3, 1.0), (0.6, 0.8), (1.3, 0.5)):
            box = (x + (part - size) * wide, y - size * wide, x + (part + size) * wide, y + size * wide)
            pen.pieslice(box, 180, 360, fill=255)


def stars(pen: ImageDraw.ImageDraw, random: Random, top: float) -> None:
    """Stars, or snow, from `top` to the middle of the picture."""
    for _ in range(90):
        where = random.uniform(0, WIDTH), random.uniform(top, HEIGHT * 0.62)
        pen.regular_polygon((*where, random.uniform(4, 13)), 4, rotation=random.uniform(0, 45), fill=255)


def bubbles(pen: ImageDraw.ImageDraw, random: Random, top: float) -> None:
    """Rising bubbles, or lanterns."""
    for _ in range(26):
        where = random.uniform(0, WIDTH), random.uniform(top, HEIGHT * 0.8)
        pen.circle(where, random.uniform(10, 38), fill=255)


SHAPES: dict[str, Shape] = {
    shape.__name__: shape
    for shape in (hills, peaks, waves, skyline, firs, orchard, columns, clouds, stars, bubbles)
}
