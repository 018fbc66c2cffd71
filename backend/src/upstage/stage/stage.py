"""One stage: its members, its things and its chat. Pure state, no reactor.

A stage writes to its members through `Member.send`, which never blocks and never raises. This module does the
joining, leaving and sending; the modes are in `acting`, `drawing`, `sound` and `talk`.

A frame changes the stage when it arrives. The frames that the stage sends in response leave in order
(`Stage.turn`): some wait until they are on the disk, and later frames must not overtake them.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, Protocol, TypeVar

from upstage.stage.kept import Change, Line, Standing
from upstage.stage.layers import DRAWING_LAYERS, Layer
from upstage.stage.players import AUDIENCE, Pen, Player
from upstage.stage.text import escape
from upstage.stage.things import MAX_ID, Audio, Avatar, Backdrop, Picture, Prop
from upstage.stage.wire import Message, encode

CHAT_KEPT = 2000  # lines of a stage in memory and in the database; UpStage's figure for its log page
CHAT_REPLAY = 50  # lines that a late joiner gets, as on UpStage
CHAT_REPLAY_SIZE = 20_000  # the most characters of these lines: joining must not cost a hundred kilobytes

Thing = TypeVar("Thing", Avatar, Backdrop, Prop, Audio)


@dataclass(frozen=True)
class Colours:
    """Panel colours in the form of the protocol: `0xRRGGBB`."""

    page: str
    tools: str
    backdrop_and_prop: str
    chat: str


@dataclass(eq=False)
class Member:
    """One connection, as the stages see it: `id` is its `sock_N`, `send` takes one or more encoded frames.

    `defer(act)` runs expensive work when it is the member's turn; frames that arrive earlier wait.
    """

    id: str
    send: Callable[[bytes], None]
    defer: Callable[[Callable[[], None]], None] = lambda act: act()
    player: Player = AUDIENCE
    key: str = ""
    stage: "Stage | None" = None
    acts: bool = False  # whether it counts as a player: decided when it joins, not when it identifies itself
    pen: Pen | None = None


class Host(Protocol):
    """The server as a stage sees it; `stages.Stages` implements this protocol."""

    def clock(self) -> float:
        """Return the time in seconds, monotonic."""

    def keep(self, stage_id: str, changes: Sequence[Change], kept: Callable[[], object]) -> object:
        """Write changes to disk, then call `kept`, in the order of the calls."""

    def speak(self, voice: str, text: str) -> str | None:
        """Return the URL of the spoken line immediately, or None if there is no speech."""

    def members(self) -> Iterable[Member]:
        """Return the members on all stages."""

    def later(self, act: Callable[[], None]) -> object:
        """Call `act` a moment later."""


@dataclass(eq=False)
class Stage:
    """A stage and everything on it."""

    kind: ClassVar = "stage"

    host: Host
    id: str
    name: str
    splash: str
    colours: Colours
    avatars: list[Avatar] = field(default_factory=list)
    backdrops: list[Backdrop] = field(default_factory=list)
    props: list[Prop] = field(default_factory=list)
    audios: list[Audio] = field(default_factory=list)
    backdrop_shown: int = 0  # ID of a backdrop, 0 = none
    backdrop_by: Member | None = None  # the member that put the backdrop up, and may change its frames
    layers: list[Layer] = field(default_factory=lambda: [Layer(n) for n in range(DRAWING_LAYERS)])
    chat: deque[str] = field(default_factory=lambda: deque(maxlen=CHAT_KEPT))
    applause: bool = False  # whether the audience has the applause button
    volunteer: bool = False  # whether it has the volunteer button
    listed: bool = True  # whether the lists of stages show it
    members: set[Member] = field(default_factory=set)
    # The members that have been sent their set-up, and whether each counts as a player.
    _hearing: dict[Member, bool] = field(default_factory=dict)
    _counts_due: bool = False  # whether the new counts will be sent in a moment

    @property
    def players(self) -> int:
        """The number of members that count as players."""
        return sum(member.acts for member in self.members)

    @property
    def audience(self) -> int:
        """The number of members that do not count as players."""
        return len(self.members) - self.players

    @property
    def pictures(self) -> list[Picture]:
        """All things that have a picture."""
        return [*self.backdrops, *self.avatars, *self.props]

    def join(self, member: Member) -> None:
        """Add a member, send it the set-up frames, and send all members the new counts.

        A player may be on a stage only once: an earlier connection of the same player is sent a message,
        leaves the stage and receives nothing more.
        """
        for other in [] if member.player is AUDIENCE else list(self.members):
            if other.player.name == member.player.name:
                self.reply(other, encode("ERR_DOUBLE_LOGIN"))
                self.leave(other)
        member.stage = self
        member.acts = member.player.can_act
        self.members.add(member)
        frames = [b"".join(self._set_up())]
        for layer in self.layers:
            frames += layer.prepared()  # sent apart from the rest: they are large, and all members share them
        if member.acts:
            frames.append(self.layer_state())
        self.reply(member, *frames)
        self.turn(partial(self._hearing.update, {member: member.acts}))
        self._tell_counts()

    def leave(self, member: Member) -> None:
        """Remove a member and send the others the new counts. Its avatar stays where it is."""
        self.members.discard(member)
        self.turn(partial(self._hearing.pop, member, None))
        self.let_go(member)
        member.stage = None
        member.acts = False
        self._tell_counts()

    def let_go(self, member: Member) -> None:
        """Release everything that a member holds on this stage: its avatar, its layer, its backdrop."""
        if avatar := self.held_by(member):
            avatar.holder = None
            self.to_players(encode("AV_DISCONNECT", client=member.id, ID=avatar.id))
        if layer := self.drawn_by(member):
            layer.user = None
            self.to_players(self.layer_state())
        if self.backdrop_by is member:
            self.backdrop_by = None

    def loaded(self, member: Member) -> None:
        """Send a client that has fetched all media the avatars' places, the held props and the buttons."""
        frames = [frame for avatar in self.avatars for frame in avatar.place()]
        frames += [prop.bind() for prop in self.props if prop.holder]
        if self.applause:
            frames.append(self.applause_button())
        if self.volunteer:
            frames.append(self.volunteer_button())
        self.reply(member, *frames, encode("CONFIRM_LOADED"))

    def reload(self) -> None:
        """Tell all clients to reload, because things have changed. Chat, drawing and places stay."""
        self.broadcast(encode("RELOAD"))

    def check_holders(self) -> None:
        """Release the props of removed avatars; hide the backdrop if it was removed."""
        for prop in self.props:
            if prop.holder not in {avatar.id for avatar in self.avatars}:
                prop.holder = 0
        if self.backdrop_shown not in {backdrop.id for backdrop in self.backdrops}:
            self.backdrop_shown = 0

    def close(self) -> None:
        """Tell all members that the stage is closed, and remove them."""
        for member in list(self.members):
            self.reply(member, encode("ERR_DOUBLE_LOGIN", msg="This stage has been closed."))
            member.stage = None
            member.acts = False
        self.members.clear()
        self.turn(self._hearing.clear)

    def turn(self, act: Callable[[], object]) -> None:
        """Call `act` when all earlier frames have been sent."""
        self.host.keep(self.id, (), act)

    def reply(self, member: Member, *frames: bytes) -> None:
        """Send frames to one member."""

        def send() -> None:
            for frame in frames:
                member.send(frame)

        self.turn(send)

    def broadcast(self, frame: bytes) -> None:
        """Send one frame, encoded once, to all members, its sender included."""
        self.turn(partial(self._send, frame))

    def to_players(self, frame: bytes) -> None:
        """Send one frame, encoded once, to all members that count as players, its sender included."""
        self.turn(partial(self._send, frame, players=True))

    def say(self, line: str, *frames: bytes) -> None:
        """Write a line to the chat log, then send its frames to all: a line that was seen is never lost."""
        self.chat.append(line)
        self.host.keep(self.id, [Line(line)], partial(self._send, *frames))

    def show(self, frame: bytes, *changed: "Picture | Stage") -> None:
        """Write the things' new state, then send the frame to all: a state that was seen is never lost."""
        self.host.keep(self.id, [thing.standing() for thing in changed], partial(self._send, frame))

    def draw(self, layer: Layer, frame: bytes) -> None:
        """Write a frame made by a layer, then send it to all."""
        self.host.keep(self.id, [layer.change(frame)], partial(self._send, frame))

    def _send(self, *frames: bytes, players: bool = False) -> None:
        # A copy: a member whose connection is cut in the meantime leaves the dict.
        for member in [member for member, acts in self._hearing.items() if acts or not players]:
            for frame in frames:
                member.send(frame)

    def standing(self) -> Standing:
        """Return the state that outlives the process: the buttons, and which backdrop is shown."""
        buttons = {"applause": self.applause, "volunteer": self.volunteer}
        return Standing.of(self.kind, 0, {"backdrop": self.backdrop_shown, **buttons})

    def stand(self, state: Message) -> None:
        """Restore a state that `standing` has returned; raise BadFrame if it is invalid."""
        self.backdrop_shown = state.whole("backdrop", 0, MAX_ID)
        self.applause, self.volunteer = (state.need(name) == "True" for name in ("applause", "volunteer"))

    def held_by(self, member: Member) -> Avatar | None:
        """Return the avatar that a member holds: at most one."""
        return next((avatar for avatar in self.avatars if avatar.holder is member), None)

    def drawn_by(self, member: Member) -> Layer | None:
        """Return the layer that a member draws on: at most one."""
        return next((layer for layer in self.layers if layer.user is member), None)

    def layer_state(self) -> bytes:
        """Return the DRAW_LAYER_STATE frame: the player who draws on each layer."""
        users = {f"L{layer.number}": layer.user.player.name for layer in self.layers if layer.user}
        return encode("DRAW_LAYER_STATE", **users)

    def applause_button(self) -> bytes:
        """Return the APPLAUSE or NO_APPLAUSE frame."""
        if self.applause:
            return encode("APPLAUSE", applause="Applause button is now active")
        return encode("NO_APPLAUSE", applause="Applause button is no longer active")

    def volunteer_button(self) -> bytes:
        """Return the VOLUNTEER or NO_VOLUNTEER frame."""
        if self.volunteer:
            return encode("VOLUNTEER", volunteer="Volunteer button is now active")
        return encode("NO_VOLUNTEER", novolunteer="Volunteer button is no longer active")

    def _set_up(self) -> Iterator[bytes]:
        """Yield the frames of a JOIN before the drawing, in UpStage's order, which clients rely on."""
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
        yield from (audio.load(self.host.clock()) for audio in self.audios)
        yield encode("LOAD_CHAT", chat="\n".join(escape(line) for line in self._replay()))

    def _replay(self) -> list[str]:
        """Return the newest chat lines within both limits, oldest first."""
        lines: list[str] = []
        room = CHAT_REPLAY_SIZE
        for line in reversed(self.chat):
            room -= len(line)
            if room < 0 or len(lines) == CHAT_REPLAY:
                break
            lines.append(line)
        return lines[::-1]

    def _tell_counts(self) -> None:
        """Send the counts once for all who come or go within a moment: n frames, not n²."""
        if not self._counts_due:
            self._counts_due = True
            self.host.later(self._send_counts)

    def _send_counts(self) -> None:
        self._counts_due = False
        self.broadcast(encode("JOINED", pCount=self.players, aCount=self.audience))


def find(things: Iterable[Thing], id: str) -> Thing | None:
    """Return the thing with this ID; IDs are text in the protocol, and `01` is not `1`."""
    return next((thing for thing in things if str(thing.id) == id), None)
