"""Drawing on the four layers: one function for each mode. Pure.

Numbers go out as numbers, bounded and short, whatever text came in.
"""

from upstage.stage.layers import DRAWING_LAYERS, Layer
from upstage.stage.players import Pen
from upstage.stage.stage import Member, Stage
from upstage.stage.wire import BadFrame, Message

FAR = 10_000.0  # a point may lie outside the stage, but not out of all bounds


def _layer(stage: Stage, message: Message) -> Layer:
    """The layer a message names; one that does not exist must not become its neighbour."""
    name = message.need("layer")
    if name not in map(str, range(DRAWING_LAYERS)):
        raise BadFrame(f"{message.mode}: there is no such layer")
    return stage.layers[int(name)]


def take_layer(stage: Stage, member: Member, message: Message) -> None:
    """DRAW_LAYER: draw on a layer from now on, whoever did so before; leave one's old one."""
    layer = _layer(stage, message)
    if old := stage.drawn_by(member):
        old.user = None
    layer.user = member
    if member.pen:
        stage.broadcast(layer.style(member.pen))
    stage.to_players(stage.layer_state())


def style(stage: Stage, member: Member, message: Message) -> None:
    """DRAW_STYLE: another pen; it stays with the player when the layer changes."""
    member.pen = Pen(
        colour=message.whole("colour", 0, 0xFFFFFF),
        thickness=message.short("thickness", 0, 100),
        alpha=message.short("alpha", 0, 100),
    )
    if layer := stage.drawn_by(member):
        stage.broadcast(layer.style(member.pen))


def point(stage: Stage, member: Member, message: Message) -> None:
    """DRAW_MOVE, pen up, and DRAW_LINE, pen down: to a place."""
    x, y = message.short("x", -FAR, FAR), message.short("y", -FAR, FAR)
    if layer := stage.drawn_by(member):
        stage.broadcast(layer.point(message.mode, x, y))


def visibility(stage: Stage, member: Member, message: Message) -> None:
    """DRAW_VIS: show or hide a layer, or let it shine through."""
    layer = _layer(stage, message)
    alpha = message.short("alpha", 0, 100)
    stage.broadcast(layer.show(message.need("visible") in ("true", "1"), alpha))


def clear(stage: Stage, member: Member, message: Message) -> None:
    """DRAW_CLEAR: wipe a layer."""
    stage.broadcast(_layer(stage, message).clear())
