"""The things on a stage: avatars, backdrops, props and audios. Pure.

Each thing makes the frame that loads it into a client that has just joined. IDs are counted from 1 for each
kind and stage, so avatar 1 and prop 1 are two things.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from upstage.stage.kept import Standing
from upstage.stage.players import Holder
from upstage.stage.text import avatar_name
from upstage.stage.wire import Message, encode

WIDTH, HEIGHT = 320.0, 200.0  # the client's coordinates
MAX_DEPTH = 1_000_000
MAX_FRAMES = 10_000
MAX_ID = 2**53  # a floating-point number represents every whole number up to this exactly


@dataclass(eq=False)
class Avatar:
    """A figure that a player can hold; `x` and `y` are in the client's coordinates, 0 = off stage.

    `layer` is its depth: an avatar with a greater depth is drawn in front.
    """

    kind: ClassVar = "avatar"

    id: int
    name: str
    url: str
    x: float = 0.0
    y: float = 0.0
    frame: int = 1
    show_name: bool = True
    thumbnail: str = ""  # empty: the image itself
    medium: str = ""  # "video" for a webcam's pictures, otherwise empty
    voice: str = "default"
    z: float = 0  # as a client last sent it; 0 before that
    layer: int = 0  # 0: the client's default
    holder: Holder | None = None

    def __post_init__(self) -> None:
        self.layer = self.layer or 10000 + 10 * self.id

    @property
    def placed(self) -> bool:
        return bool(self.x and self.y)

    def load(self) -> bytes:
        return encode(
            "LOAD_AV",
            ID=self.id,
            name=self.name,
            url=self.url,
            thumbnail=self.thumbnail,
            allowed=True,
            available=self.holder is None,
            medium=self.medium,
            frame=self.frame,
            streamserver="",
            streamname="",
        )

    def place(self) -> Iterator[bytes]:
        """Yield the frames that put this avatar in its place, for a client that has loaded everything."""
        if self.placed:
            yield self.position()
        yield self.properties()
        yield self.depth()

    def standing(self) -> Standing:
        """Return the state that outlives the process."""
        state = {"x": self.x, "y": self.y, "z": self.z, "frame": self.frame, "layer": self.layer}
        return Standing.of(
            self.kind, self.id, {"url": self.url, "name": self.name, "show_name": self.show_name, **state}
        )

    def stand(self, state: Message) -> None:
        """Restore a state that `standing` has returned; raise BadFrame if it is invalid."""
        self.x, self.y = state.number("x", 0, WIDTH), state.number("y", 0, HEIGHT)
        self.z = state.number("z", 0, MAX_DEPTH) or 0
        self.frame = state.whole("frame", 0, MAX_FRAMES)
        self.layer = state.whole("layer", 0, MAX_DEPTH)
        self.show_name = state.need("show_name") == "True"
        self.name = avatar_name(state.fields.get("name", "")) or self.name

    def position(self) -> bytes:
        return encode("AV_POS", ID=self.id, X=self.x, Y=self.y, Z=self.z)

    def properties(self) -> bytes:
        return encode("AVPROPERTIES", ID=self.id, showName="show" if self.show_name else "hide")

    def depth(self) -> bytes:
        return encode("AVLAYER", ID=self.id, newLayer=self.layer)


@dataclass(eq=False)
class Backdrop:
    """A picture behind everything else; a stage shows at most one of its backdrops."""

    kind: ClassVar = "backdrop"

    id: int
    name: str
    url: str
    frame: int = 1
    thumbnail: str = ""

    def load(self, shown: bool) -> bytes:
        return encode(
            "LOAD_BACKDROP",
            ID=self.id,
            name=self.name,
            url=self.url,
            thumbnail=self.thumbnail,
            show=shown,
            frame=self.frame,
        )

    def standing(self) -> Standing:
        """Return the state that outlives the process."""
        return Standing.of(self.kind, self.id, {"url": self.url, "frame": self.frame})

    def stand(self, state: Message) -> None:
        """Restore a state that `standing` has returned; raise BadFrame if it is invalid."""
        self.frame = state.whole("frame", 0, MAX_FRAMES)


@dataclass(eq=False)
class Prop:
    """A thing that an avatar can hold; `holder` is the avatar's ID, 0 = none."""

    kind: ClassVar = "prop"

    id: int
    name: str
    url: str
    thumbnail: str = ""
    holder: int = 0

    def load(self) -> bytes:
        return encode(
            "LOAD_PROP",
            ID=self.id,
            name=self.name,
            url=self.url,
            thumbnail=self.thumbnail,
            show=False,  # BINDPROP, which follows, shows a prop that is held
        )

    def bind(self) -> bytes:
        """Return the BINDPROP frame, which attaches the prop to its holder."""
        return encode("BINDPROP", ID=self.holder, prop=self.id)

    def standing(self) -> Standing:
        """Return the state that outlives the process."""
        return Standing.of(self.kind, self.id, {"url": self.url, "holder": self.holder})

    def stand(self, state: Message) -> None:
        """Restore a state that `standing` has returned; raise BadFrame if it is invalid."""
        self.holder = state.whole("holder", 0, MAX_ID)


Picture = Avatar | Backdrop | Prop


@dataclass(eq=False)
class Audio:
    """A sound; `type` is `sfx` or `music`, `file` the bare name below /media/audio/.

    `started` is the time of the last PLAY_CLIP, in seconds of the stage's clock.
    """

    id: int
    name: str
    file: str
    type: str
    started: float | None = None

    @property
    def url(self) -> str:
        return f"/media/audio/{self.file}"

    def load(self, now: float) -> bytes:
        position = 0 if self.started is None else round(now - self.started, 2)
        return encode(
            "LOAD_AUDIO", ID=self.id, name=self.name, url=self.file, type=self.type, position=position
        )
