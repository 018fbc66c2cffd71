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
        self.applause = False
        self.chat: list[str] = []

    def take(self, frame: str) -> None:
        fields = dict(pairs_of(frame, keep_blank_values=True))
        getattr(self, f"on_{fields.pop('mode')}", lambda f: None)(fields)

    def on_LOAD_AV(self, f: dict[str, str]) -> None:
        free = f["available"] == "True"
        layer = str(10000 + 10 * int(f["ID"]))
        self.avatars[f["ID"]] = {"name": f["name"], "frame": f["frame"], "free": str(free), "layer": layer}

    def on_LOAD_BACKDROP(self, f: dict[str, str]) -> None:
        self.backdrop_frames[f["ID"]] = f["frame"]
        if f["show"] == "True":
            self.backdrop = f["ID"]

    def on_LOAD_CHAT(self, f: dict[str, str]) -> None:
        self.chat = f["chat"].split("\n") if f["chat"] else []

    def on_AV_POS(self, f: dict[str, str]) -> None:
        self.avatars[f["ID"]] |= {"x": f["X"], "y": f["Y"]}

    on_AV_MOVETOWARD = on_AV_POS

    def on_PUT_AWAY(self, f: dict[str, str]) -> None:
        self.avatars[f["ID"]].pop("x", None), self.avatars[f["ID"]].pop("y", None)
        self.props = {prop: holder for prop, holder in self.props.items() if holder != f["ID"]}

    def on_AV_CONNECT(self, f: dict[str, str]) -> None:
        self.avatars[f["ID"]]["free"] = "False"

    def on_AV_DISCONNECT(self, f: dict[str, str]) -> None:
        self.avatars[f["ID"]]["free"] = "True"

    def on_RENAME(self, f: dict[str, str]) -> None:
        self.avatars[f["ID"]]["name"] = f["name"]

    def on_AVPROPERTIES(self, f: dict[str, str]) -> None:
        self.avatars[f["ID"]]["named"] = f["showName"]

    def on_AVLAYER(self, f: dict[str, str]) -> None:
        mine = self.avatars[f["ID"]]
        for other in self.avatars.values():
            if other["layer"] == f["newLayer"]:
                other["layer"] = mine["layer"]
        mine["layer"] = f["newLayer"]

    def on_FRAME(self, f: dict[str, str]) -> None:
        self.avatars[f["avID"]]["frame"] = f["frameNumber"]

    def on_BINDPROP(self, f: dict[str, str]) -> None:
        self.props = {prop: holder for prop, holder in self.props.items() if holder != f["ID"]}
        if f["prop"] != "0":
            self.props[f["prop"]] = f["ID"]

    def on_SHOW_BACKDROP(self, f: dict[str, str]) -> None:
        self.backdrop = f["ID"]

    def on_BACKDROP_FRAME(self, f: dict[str, str]) -> None:
        self.backdrop_frames[self.backdrop] = f["frameNumber"]

    def on_DRAW_VIS(self, f: dict[str, str]) -> None:
        self.visible[f["layer"]] = (f["visible"], f["alpha"])

    def on_DRAW_STYLE(self, f: dict[str, str]) -> None:
        self.pens[f["layer"]] = (f["colour"], f["thickness"], f["alpha"])

    def on_DRAW_MOVE(self, f: dict[str, str]) -> None:
        self.points[f["layer"]] = (f["x"], f["y"])

    def on_DRAW_LINE(self, f: dict[str, str]) -> None:
        layer, end = f["layer"], (f["x"], f["y"])
        self.strokes[layer].append((self.pens.get(layer), self.points.get(layer), end))
        self.points[layer] = end

    def on_DRAW_CLEAR(self, f: dict[str, str]) -> None:
        self.strokes[f["layer"]].clear()
        self.points.pop(f["layer"], None)

    def on_DRAW_LAYER_STATE(self, f: dict[str, str]) -> None:
        self.users = f

    def on_JOINED(self, f: dict[str, str]) -> None:
        self.counts = (f["pCount"], f["aCount"])

    def on_APPLAUSE(self, f: dict[str, str]) -> None:
        self.applause = True

    def on_NO_APPLAUSE(self, f: dict[str, str]) -> None:
        self.applause = False

    def everything(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "chat"}
