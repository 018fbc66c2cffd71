"""One stage: who is there, what stands on it, what was said. Pure state, no reactor.

A stage writes to its members through `Member.send`, which never blocks and never raises.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from unicodedata import category

from upstage.things import Audio, Avatar, Backdrop, Picture, Prop
from upstage.wire import encode

CHAT_REPLAY = 50  # lines a late joiner gets, as on UpStage
CHAT_REPLAY_SIZE = 20_000  # characters in it at most: joining must not cost a hundred kilobytes
DRAWING_LAYERS = 4


@dataclass(frozen=True)
class Player:
    """A person's name and rights."""

    name: str
    can_act: bool = False
    can_admin: bool = False
    can_su: bool = False


AUDIENCE = Player("nice visitor")  # everybody who has not signed in, under UpStage's name for them


@dataclass(eq=False)
class Member:
    """One connection as the house sees it: `id` is its `sock_N`, `send` takes one encoded frame."""

    id: str
    send: Callable[[bytes], None]
    player: Player = AUDIENCE
    key: str = ""
    stage: "Stage | None" = None
    acts: bool = False  # counted as a player: decided when it joins, not when it says who it is


@dataclass(frozen=True)
class Colours:
    """Panel colours as they go over the wire: `0xRRGGBB`."""

    page: str
    tools: str
    backdrop_and_prop: str
    chat: str


@dataclass(eq=False)
class Stage:
    """A stage with its things; everything that happens on it happens in one of these methods."""

    id: str
    name: str
    splash: str
    colours: Colours
    avatars: list[Avatar] = field(default_factory=list)
    backdrops: list[Backdrop] = field(default_factory=list)
    props: list[Prop] = field(default_factory=list)
    audios: list[Audio] = field(default_factory=list)
    backdrop_shown: int = 0  # ID of a backdrop, 0 = none
    chat: deque[str] = field(default_factory=lambda: deque(maxlen=CHAT_REPLAY))
    members: set[Member] = field(default_factory=set)

    @property
    def players(self) -> int:
        """How many members count as players."""
        return sum(member.acts for member in self.members)

    @property
    def audience(self) -> int:
        """How many members do not count as players."""
        return len(self.members) - self.players

    @property
    def pictures(self) -> list[Picture]:
        """All things that are drawn."""
        return [*self.backdrops, *self.avatars, *self.props]

    def join(self, member: Member) -> None:
        """Seat a member, send it the set-up frames, and tell everybody the new counts."""
        member.stage = self
        member.acts = member.player.can_act
        self.members.add(member)
        for frame in self._set_up(member):
            member.send(frame)
        self._tell_counts()

    def leave(self, member: Member) -> None:
        """Take a member off the stage and tell those who stay."""
        self.members.discard(member)
        member.stage = None
        member.acts = False
        self._tell_counts()

    def loaded(self, member: Member) -> None:
        """A client has fetched all media: show it where everything stands."""
        for avatar in self.avatars:
            for frame in avatar.place():
                member.send(frame)
        member.send(encode("CONFIRM_LOADED"))

    def text(self, text: str) -> None:
        """A line without an avatar: from the audience, or from a player who holds none."""
        text = one_line(text)
        if text.strip():
            self.chat.append(f" {text}")
            self.broadcast(encode("ANONTEXT", text=escape(text)))

    def broadcast(self, frame: bytes) -> None:
        """Send one frame, encoded once, to everybody here, its sender included."""
        for member in list(self.members):  # a copy: a member cut off on the way leaves the set
            member.send(frame)

    def _set_up(self, member: Member) -> Iterator[bytes]:
        """The frames of a JOIN in UpStage's order; clients build their panels on it."""
        yield encode("STAGE_NAME", stageName=self.name, stageID=self.id)
        yield encode("PAGE_COLOUR", bgcolour=self.colours.page)
        yield encode("TOOLS_COLOUR", bgcolour=self.colours.tools)
        yield encode("BACKDROPANDPROP_COLOUR", bgcolour=self.colours.backdrop_and_prop)
        yield encode("CHAT_COLOUR", bgcolour=self.colours.chat)
        yield encode(
            "SPLASH_DETAILS",
            avatars=len(self.avatars),
            props=len(self.props),
            backdrops=len(self.backdrops),
            msg=self.splash,
        )
        yield from (avatar.load() for avatar in self.avatars)
        yield from (drop.load(shown=drop.id == self.backdrop_shown) for drop in self.backdrops)
        yield from (prop.load() for prop in self.props)
        yield from (audio.load() for audio in self.audios)
        yield encode("LOAD_CHAT", chat="\n".join(escape(line) for line in self._replay()))
        for layer in range(DRAWING_LAYERS):
            yield encode("DRAW_VIS", visible=True, layer=layer, alpha=100)
        if member.acts:
            yield encode("DRAW_LAYER_STATE")

    def _replay(self) -> list[str]:
        """The newest chat lines that fit, oldest first."""
        lines: list[str] = []
        room = CHAT_REPLAY_SIZE
        for line in reversed(self.chat):
            room -= len(line)
            if room < 0:
                break
            lines.append(line)
        return lines[::-1]

    def _tell_counts(self) -> None:
        self.broadcast(encode("JOINED", pCount=self.players, aCount=self.audience))


def one_line(text: str) -> str:
    """Text without line breaks and control characters: they would forge lines in LOAD_CHAT."""
    return "".join(" " if category(char) in ("Cc", "Zl", "Zp") else char for char in text)


def escape(text: str) -> str:
    """What LOAD_CHAT does to text for a Flash HTML field; `&` stays, as clients expect."""
    return text.replace("<", "&lt;").replace(">", "&gt;")
