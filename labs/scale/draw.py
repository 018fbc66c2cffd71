"""Fills the stage `rehearsal` with drawing, in the database, which the backend reads when it is restarted.

    python draw.py

Each of the four layers gets as many marks as the backend keeps: 400 kB in total, which are sent to each
client that joins. Players would need a minute to draw them.
"""

import os
from pathlib import Path

from upstage.stage.kept import Drawing
from upstage.stage.layers import DRAWING_LAYERS, MAX_MARKS
from upstage.stage.wire import encode
from upstage.state.database import Database

STAGE = "rehearsal"


def line(layer: int, number: int) -> bytes:
    """Return a frame of a zigzag across the whole stage, as long as the frames of a mouse that draws."""
    x, y = number * 8 % 800, 100 + number * 37 % 400
    return encode("DRAW_LINE", layer=layer, x=f"{x}.5", y=f"{y}.25")


def drawing() -> list[tuple[str, Drawing]]:
    """Return the change for each layer."""
    return [
        (STAGE, Drawing(layer, tuple(line(layer, number) for number in range(MAX_MARKS))))
        for layer in range(DRAWING_LAYERS)
    ]


if __name__ == "__main__":
    database = Database(Path(os.environ.get("UPSTAGE_DATA", "/var/lib/upstage")))
    database.keep(drawing())
    database.close()
