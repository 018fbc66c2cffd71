"""Players and the audience. Pure."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Player:
    """A person's name and rights."""

    name: str
    can_act: bool = False
    can_admin: bool = False
    can_su: bool = False


AUDIENCE = Player("nice visitor")  # each client that has not signed in; the name is UpStage's


@dataclass(frozen=True)
class Pen:
    """A player's pen in the form of the protocol: decimal colour, thickness and alpha."""

    colour: int
    thickness: str
    alpha: str


class Holder(Protocol):
    """The member that holds an avatar or draws on a layer; holders are compared by identity."""

    player: Player
