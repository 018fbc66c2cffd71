"""Drawing on the four layers: one function for each mode. Pure.

Numbers are sent on as numbers, bounded and short, never as the text that arrived.
"""

from upstage.stage.layers import DRAWING_LAYERS, Layer
from upstage.stage.players import Pen
from upstage.stage.stage import Member, Stage
from upstage.stage.wire import BadFrame, Message

FAR = 10_000.0  # a point may lie outside the stage, within this bound


def _layer(stage: Stage, message: Message) -> Layer:
    """Return the layer that a message names; raise BadFrame rather than choose the nearest one."""
    name = message.need("layer")
    if name not in map(str, range(DRAWING_LAYERS)):
        raise BadFrame(f"{message.mode}: there is no such layer")
    return stage.layers[int(name)]


def take_layer(stage: Stage, member: Member, message: Message) -> None:
    """DRAW_LAYER: take a layer, even from another member; release the member's previous one."""
    layer = _layer(stage, message)
    if old := stage.drawn_by(member):
        old.user = None
    layer.user = member
    if member.pen:
        stage.draw(layer, layer.style(member.pen))
    stage.to_players(stage.layer_state())


def style(stage: Stage, member: Member, message: Message) -> None:
    """DRAW_STYLE: change the pen, which the member keeps when it changes layers."""
    member.pen = _pen(message)
    if layer := stage.drawn_by(member):
        stage.draw(layer, layer.style(member.pen))


def point(stage: Stage, member: Member, message: Message) -> None:
    """DRAW_MOVE, pen up, and DRAW_LINE, pen down: move the pen to a point."""
    x, y = _point(message)
    if layer := stage.drawn_by(member):
        stage.draw(layer, layer.point(message.mode, x, y))


def visibility(stage: Stage, member: Member, message: Message) -> None:
    """DRAW_VIS: set a layer's visibility and opacity."""
    layer = _layer(stage, message)
    stage.draw(layer, layer.show(*_visibility(message)))


def clear(stage: Stage, member: Member, message: Message) -> None:
    """DRAW_CLEAR: clear a layer."""
    layer = _layer(stage, message)
    stage.draw(layer, layer.clear())


def redraw(layer: Layer, message: Message) -> None:
    """Draw a frame that was read from the disk; raise BadFrame."""
    match message.mode:
        case "DRAW_STYLE":
            layer.style(_pen(message))
        case "DRAW_MOVE" | "DRAW_LINE":
            layer.point(message.mode, *_point(message))
        case "DRAW_VIS":
            layer.show(*_visibility(message))
        case _:
            raise BadFrame(f"{message.mode} draws nothing")
    layer.written += 1


def _pen(message: Message) -> Pen:
    return Pen(
        colour=message.whole("colour", 0, 0xFFFFFF),
        thickness=message.short("thickness", 0, 100),
        alpha=message.short("alpha", 0, 100),
    )


def _point(message: Message) -> tuple[str, str]:
    return message.short("x", -FAR, FAR), message.short("y", -FAR, FAR)


def _visibility(message: Message) -> tuple[bool, str]:
    """Return whether a layer is visible, and its opacity; servers write `True`, clients `true` or `1`."""
    return message.need("visible") in ("true", "1", "True"), message.short("alpha", 0, 100)
