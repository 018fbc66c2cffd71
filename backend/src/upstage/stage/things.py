"""The things of a stage: avatars, backdrops, props and audios. Pure.

Each thing makes the frames that load it into a client that has just joined. IDs are counted from 1 for
each kind and stage, so avatar 1 and prop 1 are two things.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from upstage.stage.players import Holder
from upstage.stage.wire import encode

WIDTH, HEIGHT = 320.0, 200.0  # the client's coordinates


@dataclass(eq=False)
class Avatar:
    """A figure that a player can hold; `x` and `y` in the client's coordinates, 0 = off stage.

    `layer` is its depth: avatars with a greater one are drawn in front.
    """

    id: int
    name: str
    url: str
    x: float = 0.0
    y: float = 0.0
    frame: int = 1
    show_name: bool = True
    thumbnail: str = ""  # empty means the image itself, here and below
    medium: str = ""  # or `video`, `stream`
    voice: str = "default"
    z: float = 0  # as the client sent it; 0 if it never did
    layer: int = 0  # 0: the client's default
    holder: Holder | None = None

    def __post_init__(self) -> None:
        self.layer = self.layer or 10000 + 10 * self.id

    @property
    def placed(self) -> bool:
        """Whether the avatar stands on the stage."""
        return bool(self.x and self.y)

    def load(self) -> bytes:
        """The LOAD_AV frame."""
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
        """The frames for this avatar after a client has loaded everything."""
        if self.placed:
            yield self.position()
        yield self.properties()
        yield self.depth()

    def position(self) -> bytes:
        """The AV_POS frame."""
        return encode("AV_POS", ID=self.id, X=self.x, Y=self.y, Z=self.z)

    def properties(self) -> bytes:
        """The AVPROPERTIES frame."""
        return encode("AVPROPERTIES", ID=self.id, showName="show" if self.show_name else "hide")

    def depth(self) -> bytes:
        """The AVLAYER frame."""
        return encode("AVLAYER", ID=self.id, newLayer=self.layer)


@dataclass(eq=False)
class Backdrop:
    """A picture behind everything else; a stage shows at most one of its backdrops."""

    id: int
    name: str
    url: str
    frame: int = 1
    thumbnail: str = ""

    def load(self, shown: bool) -> bytes:
        """The LOAD_BACKDROP frame."""
        return encode(
            "LOAD_BACKDROP",
            ID=self.id,
            name=self.name,
            url=self.url,
            thumbnail=self.thumbnail,
            show=shown,
            frame=self.frame,
        )


@dataclass(eq=False)
class Prop:
    """A thing that an avatar can hold; `holder` is the avatar's ID, 0 = none."""

    id: int
    name: str
    url: str
    thumbnail: str = ""
    holder: int = 0

    def load(self) -> bytes:
        """The LOAD_PROP frame."""
        return encode(
            "LOAD_PROP",
            ID=self.id,
            name=self.name,
            url=self.url,
            thumbnail=self.thumbnail,
            show=False,  # BINDPROP, which follows, shows a held prop
        )

    def bind(self) -> bytes:
        """The BINDPROP frame that attaches it to its holder."""
        return encode("BINDPROP", ID=self.holder, prop=self.id)


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
        """The URL of the file."""
        return f"/media/audio/{self.file}"

    def load(self, now: float) -> bytes:
        """The LOAD_AUDIO frame: its url is the bare file name, unlike all the others."""
        position = 0 if self.started is None else round(now - self.started, 2)
        return encode(
            "LOAD_AUDIO", ID=self.id, name=self.name, url=self.file, type=self.type, position=position
        )
