"""The house: all stages of one server, everybody connected to it, and who may send what. Pure.

A connection enters with `connect`, hands each frame to `receive` and goes with `disconnect`.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import count

from upstage import __version__
from upstage.stage import AUDIENCE, Member, Player, Stage
from upstage.tokens import Tokens, new_token
from upstage.wire import BadFrame, Message, decode, encode

Handler = Callable[["House", Member, Message], None]

CREDITS = f"""\
This stage is run by Proscenium's backend, version {__version__}.
It speaks the protocol of UpStage 2.4.2, a stage for cyberformance,
and shares no code with it.
UpStage was made by artists and programmers since 2003: thank you.
Avatars, backdrops, props and sounds of the demo stage are our own."""


class House:
    """Stages by ID, keys from /admin/id, and counters of what was ignored (fixed names only)."""

    def __init__(self, stages: Iterable[Stage], clock: Callable[[], float] = time.monotonic) -> None:
        self.stages = {stage.id: stage for stage in stages}
        self.keys: Tokens[Player] = Tokens(clock)
        self.counts: Counter[str] = Counter()
        self._numbers = count(1)

    def key_for(self, player: Player) -> str:
        """Return a new key with which a socket can say that it is this player's.

        A visitor's key is random and not kept, because an unknown key means audience anyway: so nobody can
        fill the store, or push players' keys out of it, by asking for keys.
        """
        return new_token() if player is AUDIENCE else self.keys.issue(player)

    def connect(self, send: Callable[[bytes], None]) -> Member:
        """Let a connection in; it is told its ID before it says anything."""
        member = Member(f"sock_{next(self._numbers)}", send)
        member.send(encode("SET", ID=member.id))
        return member

    def disconnect(self, member: Member) -> None:
        """A connection has gone. Its key goes with it, as on UpStage: to reconnect is to ask anew."""
        if member.stage:
            member.stage.leave(member)
        self.keys.revoke(member.key)

    def receive(self, member: Member, frame: bytes) -> None:
        """Act on one frame. What makes no sense is counted and ignored, whatever it is."""
        if not frame:
            self.counts["empty_frames"] += 1
            return
        try:
            message = decode(frame)
            handler = self._modes(member).get(message.mode)
            if handler is None:
                self.counts["unknown_modes"] += 1
            else:
                handler(self, member, message)
                self.counts["frames"] += 1
        except BadFrame:
            self.counts["bad_frames"] += 1

    @staticmethod
    def _modes(member: Member) -> Mapping[str, Handler]:
        if member.stage is None:
            return STAGELESS
        return AUDIENCE_MODES if member.player is AUDIENCE else PLAYER_MODES


def _ident(house: House, member: Member, message: Message) -> None:
    member.key = message.need("MD5")
    member.player = house.keys.get(member.key) or AUDIENCE


def _join(house: House, member: Member, message: Message) -> None:
    stage = house.stages.get(message.need("stage_ID"))
    if stage is None:
        member.send(encode("ERR_DOUBLE_LOGIN", msg="There is no such stage."))
        return
    if member.stage:
        member.stage.leave(member)
    stage.join(member)


def _loaded(house: House, member: Member, message: Message) -> None:
    if member.stage:
        member.stage.loaded(member)


def _text(house: House, member: Member, message: Message) -> None:
    if member.stage:
        member.stage.text(message.need("msg"))


def _info(house: House, member: Member, message: Message) -> None:
    member.send(encode("MSG", message=CREDITS))


def _nothing(house: House, member: Member, message: Message) -> None:
    """NB and DEBUG are remarks of a client to itself; a log of them could be filled by anybody."""


# Who may send what (reference: UpStage's three sets of modes). A mode not listed is ignored.
STAGELESS: dict[str, Handler] = {"IDENT": _ident, "JOIN": _join, "NB": _nothing}
AUDIENCE_MODES: dict[str, Handler] = STAGELESS | {
    "DEBUG": _nothing,
    "INFO": _info,
    "LOADED": _loaded,
    "TEXT": _text,
}
PLAYER_MODES: dict[str, Handler] = AUDIENCE_MODES  # what only players may do is not spoken yet
