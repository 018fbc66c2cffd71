"""What a stage keeps: its chat, its drawing, and how things stand on it. Pure.

A change is on the disk before the members see it, so that what was seen survives the end of the process.
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
    """How a thing stands on the stage; the stage's own buttons and backdrop have the kind `stage`, ID 0."""

    kind: str
    id: int
    state: str  # a JSON object: the thing's `standing`

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
    """All frames of a layer's drawing, in place of those before."""

    layer: int
    frames: tuple[bytes, ...]


Change = Line | Standing | Mark | Drawing


@dataclass(frozen=True)
class Kept:
    """Everything that a stage has kept, oldest first."""

    chat: Sequence[str] = ()
    standings: Sequence[Standing] = ()
    marks: Sequence[Mark] = ()
