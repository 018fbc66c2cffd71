"""What stands, hangs and sounds on a stage: avatars, backdrops, props and audios, pure.

Each thing knows the frames that bring it to a client that has just joined. IDs are counted from 1 for
each kind and stage, so avatar 1 and prop 1 are two things.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from upstage.wire import encode


@dataclass
class Avatar:
    """A figure that a player can hold; `x` and `y` in the client's 320 x 200 space, 0 = off stage."""

    id: int
    name: str
    url: str
    x: float = 0.0
    y: float = 0.0
    frame: int = 1
    show_name: bool = True

    def load(self) -> bytes:
        """The LOAD_AV frame; an empty thumbnail means the image itself."""
        return encode(
            "LOAD_AV",
            ID=self.id,
            name=self.name,
            url=self.url,
            thumbnail="",
            allowed=True,
            available=True,
            medium="",
            frame=self.frame,
            streamserver="",
            streamname="",
        )

    def place(self) -> Iterator[bytes]:
        """The frames that a client gets for this avatar when it has loaded everything."""
        if self.x and self.y:
            yield encode("AV_POS", ID=self.id, X=self.x, Y=self.y, Z=0)
        yield encode("AVPROPERTIES", ID=self.id, showName="show" if self.show_name else "hide")
        yield encode("AVLAYER", ID=self.id, newLayer=10000 + 10 * self.id)


@dataclass
class Backdrop:
    """A picture behind everything; at most one of a stage's backdrops is shown."""

    id: int
    name: str
    url: str
    frame: int = 1

    def load(self, shown: bool) -> bytes:
        """The LOAD_BACKDROP frame."""
        return encode(
            "LOAD_BACKDROP",
            ID=self.id,
            name=self.name,
            url=self.url,
            thumbnail="",
            show=shown,
            frame=self.frame,
        )


@dataclass
class Prop:
    """A thing that an avatar can hold."""

    id: int
    name: str
    url: str

    def load(self) -> bytes:
        """The LOAD_PROP frame."""
        return encode("LOAD_PROP", ID=self.id, name=self.name, url=self.url, thumbnail="", show=False)


Picture = Avatar | Backdrop | Prop


@dataclass
class Audio:
    """A sound; `type` is `sfx` or `music`, `file` the bare name below /media/audio/."""

    id: int
    name: str
    file: str
    type: str

    @property
    def url(self) -> str:
        """Where the file is fetched."""
        return f"/media/audio/{self.file}"

    def load(self) -> bytes:
        """The LOAD_AUDIO frame: its url is the bare file name, unlike all the others."""
        return encode("LOAD_AUDIO", ID=self.id, name=self.name, url=self.file, type=self.type, position=0)
