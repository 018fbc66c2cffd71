"""The screen of a client after the frames that it received: the reference for the model test."""

from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl

pairs_of = lru_cache(10_000)(parse_qsl)  # all clients get the same frames


class Screen:
    """A client's screen: things by ID, strokes with their pens, the counts, the buttons."""

    def __init__(self) -> None:
        self.avatars: dict[str, dict[str, str]] = {}
        self.props: dict[str, str] = {}
        self.backdrop = "0"
        self.backdrop_frames: dict[str, str] = {}
        self.visible: dict[str, tuple[str, str]] = {}
        self.pens: dict[str, tuple[str, ...]] = {}
        self.points: dict[str, tuple[str, str]] = {}
        self.strokes: dict[str, list[tuple[object, ...]]] = {layer: [] for layer in "0123"}
        self.users: dict[str, str] = {}
        self.counts: tuple[str, str] = ("", "")
        self.applause = self.volunteer = False
        self.chat: list[str] = []

    def take(self, frame: str) -> None:
        fields = dict(pairs_of(frame, keep_blank_values=True))
        mode = fields.pop("mode")
        id, layer = fields.get("ID") or fields.get("avID", ""), fields.get("layer", "")
        match mode:
            case "LOAD_AV":
                depth = str(10000 + 10 * int(id))
                seen = {"name": fields["name"], "frame": fields["frame"], "layer": depth}
                self.avatars[id] = seen | {"free": fields["available"]}
            case "LOAD_BACKDROP":
                self.backdrop_frames[id] = fields["frame"]
                if fields["show"] == "True":
                    self.backdrop = id
            case "LOAD_CHAT":
                self.chat = fields["chat"].split("\n") if fields["chat"] else []
            case "AV_POS" | "AV_MOVETOWARD":
                self.avatars[id] |= {"x": fields["X"], "y": fields["Y"]}
            case "PUT_AWAY":
                self.avatars[id].pop("x", None), self.avatars[id].pop("y", None)
                self.release_prop(id)
            case "AV_CONNECT" | "AV_DISCONNECT":
                self.avatars[id]["free"] = str(mode == "AV_DISCONNECT")
            case "RENAME":
                self.avatars[id]["name"] = fields["name"]
            case "AVPROPERTIES":
                self.avatars[id]["named"] = fields["showName"]
            case "AVLAYER":
                for other in self.avatars.values():
                    if other["layer"] == fields["newLayer"]:
                        other["layer"] = self.avatars[id]["layer"]
                self.avatars[id]["layer"] = fields["newLayer"]
            case "FRAME":
                self.avatars[id]["frame"] = fields["frameNumber"]
            case "BINDPROP":
                self.release_prop(id)
                if fields["prop"] != "0":
                    self.props[fields["prop"]] = id
            case "SHOW_BACKDROP":
                self.backdrop = id
            case "BACKDROP_FRAME":
                self.backdrop_frames[self.backdrop] = fields["frameNumber"]
            case "DRAW_VIS":
                self.visible[layer] = (fields["visible"], fields["alpha"])
            case "DRAW_STYLE":
                self.pens[layer] = (fields["colour"], fields["thickness"], fields["alpha"])
            case "DRAW_MOVE":
                self.points[layer] = (fields["x"], fields["y"])
            case "DRAW_LINE":
                end = (fields["x"], fields["y"])
                self.strokes[layer].append((self.pens.get(layer), self.points.get(layer), end))
                self.points[layer] = end
            case "DRAW_CLEAR":
                self.strokes[layer].clear()
                self.points.pop(layer, None)
            case "DRAW_LAYER_STATE":
                self.users = fields
            case "JOINED":
                self.counts = (fields["pCount"], fields["aCount"])
            case "APPLAUSE" | "NO_APPLAUSE":
                self.applause = mode == "APPLAUSE"
            case "VOLUNTEER" | "NO_VOLUNTEER":
                self.volunteer = mode == "VOLUNTEER"

    def release_prop(self, holder: str) -> None:
        self.props = {prop: other for prop, other in self.props.items() if other != holder}

    def everything(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "chat"}
