"""Who is connected: players, the audience, and one member for each connection. Pure."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from upstage.stage import Stage


@dataclass(frozen=True)
class Player:
    """A person's name and rights."""

    name: str
    can_act: bool = False
    can_admin: bool = False
    can_su: bool = False


AUDIENCE = Player("nice visitor")  # everybody who has not signed in, under UpStage's name for them


@dataclass(frozen=True)
class Pen:
    """What a player draws with, as it goes over the wire: decimal colour, thickness and alpha."""

    colour: int
    thickness: str
    alpha: str


@dataclass(eq=False)
class Member:
    """One connection as the house sees it: `id` is its `sock_N`, `send` takes one or more encoded frames.

    `in_turn(act)` does what is expensive when the member's turn comes; until then it is not heard.
    """

    id: str
    send: Callable[[bytes], None]
    in_turn: Callable[[Callable[[], None]], None] = lambda act: act()
    player: Player = AUDIENCE
    key: str = ""
    stage: "Stage | None" = None
    acts: bool = False  # counted as a player: decided when it joins, not when it says who it is
    pen: Pen | None = None
