"""Paper cut-outs: the technique of all pictures of the festival stage.

Coloured paper is noise, from a hash instead of a random generator, so the pictures are the same on every
machine; the noise also makes the files as large as photographs.
"""

import hashlib
from functools import cache
from io import BytesIO

from PIL import Image, ImageChops, ImageFilter

SIZE = (1920, 1200)  # of a backdrop: the stage's 320 x 200 on a large screen
INK, PAPER, GOLD = "#1f1b2e", "#f6e7cb", "#e0a13a"
LIT = 254  # the value of a window in a mask: it is lit from behind


@cache
def fibres() -> Image.Image:
    """Grain in shades of grey around 128."""
    width, height = SIZE
    fine = Image.frombytes("L", SIZE, hashlib.shake_256(b"proscenium").digest(width * height))
    coarse = fine.crop((0, 0, width // 8, height // 8)).resize(SIZE, Image.Resampling.BILINEAR)
    return Image.blend(fine, coarse, 0.3)


def grained(picture: Image.Image, grain: float) -> Image.Image:
    """Turn flat colours into paper; with `grain` 0 it is smooth."""
    shades = fibres().crop((0, 0, *picture.size)).point([round(128 + (n - 128) * grain) for n in range(256)])
    return ImageChops.add(picture, Image.merge("RGB", [shades] * 3), 1, -128)


def lay(picture: Image.Image, shape: Image.Image, colour: str) -> None:
    """Lay a cut-out on a picture: `shape` is 255 where there is paper, LIT where light shines through it.

    It casts a shadow upwards.
    """
    small = shape.reduce(8).filter(ImageFilter.GaussianBlur(3)).point([round(n * 0.35) for n in range(256)])
    shadow = ImageChops.offset(small, 0, -1).resize(picture.size, Image.Resampling.BILINEAR)
    picture.paste(INK, mask=shadow)
    picture.paste(colour, mask=shape)
    if shape.histogram()[LIT]:
        picture.paste(GOLD, mask=shape.point([255 * (n == LIT) for n in range(256)]))


def cut_out(drawing: Image.Image, grain: float) -> Image.Image:
    """Cut out an RGBA drawing, at half its size, with a rim of paper so that it reads on any backdrop."""
    drawing = drawing.reduce(2)
    inside = drawing.getchannel("A")
    rim = inside.filter(ImageFilter.GaussianBlur(4)).point(
        [min(255, max(0, n - 16) * 12) for n in range(256)]
    )
    outline = ImageChops.lighter(rim, inside)
    figure = Image.new("RGB", drawing.size, PAPER)
    figure.paste(drawing.convert("RGB"), mask=inside)
    cut = Image.new("RGBA", drawing.size)
    cut.paste(grained(figure, grain), mask=outline.point([255 * (n > 0) for n in range(256)]))
    cut.putalpha(outline)
    return cut


def jpeg(picture: Image.Image) -> bytes:
    """Encode a backdrop."""
    file = BytesIO()
    picture.save(file, "JPEG", quality=91)
    return file.getvalue()


def png(picture: Image.Image) -> bytes:
    """Encode a cut-out."""
    file = BytesIO()
    picture.save(file, "PNG", compress_level=6)
    return file.getvalue()
