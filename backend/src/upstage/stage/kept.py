"""What a stage keeps: its chat, its drawing, and the state of its things. Pure.

A change is on the disk before the members see it, unless the disk fails: nothing that was seen is lost.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """A line of the chat log."""

    text: str


@dataclass(frozen=True)
class Standing:
    """The state of a thing on the stage; the state of the stage itself has the kind `stage` and ID 0."""

    kind: str
    id: int
    state: str  # a JSON object, made by the thing's `standing`

    @classmethod
    def of(cls, kind: str, id: int, state: dict[str, object]) -> "Standing":
        return cls(kind, id, json.dumps(state))


@dataclass(frozen=True)
class Mark:
    """One more frame of a layer's drawing."""

    layer: int
    frame: bytes


@dataclass(frozen=True)
class Drawing:
    """All frames of a layer's drawing, which replace the earlier ones."""

    layer: int
    frames: tuple[bytes, ...]


Change = Line | Standing | Mark | Drawing


@dataclass(frozen=True)
class Kept:
    """Everything that a stage has kept, oldest first."""

    chat: Sequence[str] = ()
    standings: Sequence[Standing] = ()
    marks: Sequence[Mark] = ()
