"""All stages of one server, the connected members, and each role's modes. Pure.

A connection calls `connect` once, `receive` for each frame, and `disconnect` at its end.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import count

from upstage import __version__
from upstage.stage import acting, drawing, sound, talk
from upstage.stage.kept import Change
from upstage.stage.keys import Keys, new_key
from upstage.stage.players import AUDIENCE, Player
from upstage.stage.stage import Member, Stage
from upstage.stage.wire import BadFrame, Message, decode, encode

CommonMode = Callable[["Stages", Member, Message], None]
StageMode = Callable[[Stage, Member, Message], None]

CREDITS = f"""\
This stage is run by Proscenium's backend, version {__version__}.
It speaks the protocol of UpStage 2.4.2, a stage for cyberformance,
and shares no code with it.
UpStage has been made by artists and programmers since 2003: thank you.
The avatars, backdrops, props and sounds of the demo stage are our own."""


class Stages:
    """All stages by ID, the keys from /admin/id, and counters under fixed names.

    It is the host of every stage. `keep(stage_id, changes, kept)` writes changes of a stage to disk, then
    calls `kept`; `speak(voice, text)` returns the URL of the spoken line immediately, or None without speech;
    `later(act)` calls `act` soon.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        keep: Callable[[str, Sequence[Change], Callable[[], object]], object] = lambda id, _, kept: kept(),
        speak: Callable[[str, str], str | None] = lambda voice, text: None,
        later: Callable[[Callable[[], None]], object] = lambda act: act(),
    ) -> None:
        self.keys: Keys[Player] = Keys(clock)
        self.counts: Counter[str] = Counter()
        self.clock = clock
        self.keep = keep
        self.speak = speak
        self.later = later
        self._by_id: dict[str, Stage] = {}
        self._numbers = count(1)

    @property
    def by_id(self) -> Mapping[str, Stage]:
        """All stages, read-only; `add` and `remove` change them."""
        return self._by_id

    def members(self) -> list[Member]:
        """Return the members on all stages."""
        return [member for stage in self._by_id.values() for member in stage.members]

    def add(self, stage: Stage) -> None:
        """Add a stage; close the one with the same ID, if there is one."""
        self.remove(stage.id)
        self._by_id[stage.id] = stage

    def remove(self, stage_id: str) -> None:
        """Close the stage with this ID, if there is one; its members are notified."""
        if stage := self._by_id.pop(stage_id, None):
            stage.close()

    def key_for(self, player: Player) -> str:
        """Return a new key with which a socket identifies its client as this player.

        An audience key is random and not kept, because an unknown key means audience anyway: so requests for
        keys can neither fill the store nor push players' keys out of it.
        """
        return new_key() if player is AUDIENCE else self.keys.issue(player)

    def connect(self, send: Callable[[bytes], None]) -> Member:
        """Add a connection; it is sent its ID before it sends anything."""
        member = Member(f"sock_{next(self._numbers)}", send)
        member.send(encode("SET", ID=member.id))
        return member

    def disconnect(self, member: Member) -> None:
        """Remove a connection and its key, as UpStage does: a client that reconnects needs a new key."""
        if member.stage:
            member.stage.leave(member)
        self.keys.revoke(member.key)

    def receive(self, member: Member, frame: bytes) -> None:
        """Handle one frame. An invalid frame is counted and ignored."""
        if not frame:
            self.counts["empty_frames"] += 1
            return
        try:
            if self._act(member, decode(frame)):
                self.counts["frames"] += 1
            else:
                self.counts["unknown_modes"] += 1
        except BadFrame:
            self.counts["bad_frames"] += 1

    def _act(self, member: Member, message: Message) -> bool:
        """Handle a message; return False if its mode is unknown, or not allowed for this member now."""
        if ours := COMMON_MODES.get(message.mode):
            ours(self, member, message)
            return True
        modes = AUDIENCE_MODES if member.player is AUDIENCE else PLAYER_MODES
        act = modes.get(message.mode)
        if act is None or member.stage is None:
            return False
        act(member.stage, member, message)
        return True


def _ident(stages: Stages, member: Member, message: Message) -> None:
    """IDENT: the allowed modes change immediately; JOIN decides whether the member counts as a player."""
    member.key = message.need("MD5")
    player = stages.keys.get(member.key) or AUDIENCE
    if member.stage and player != member.player:
        member.stage.let_go(member)  # otherwise what this player held could not be released
    member.player = player


def _join(stages: Stages, member: Member, message: Message) -> None:
    """JOIN: as it sends a whole stage, it waits for its turn, and does not delay other members' frames."""
    member.defer(partial(_join_stage, stages, member, message.need("stage_ID")))


def _join_stage(stages: Stages, member: Member, stage_id: str) -> None:
    stage = stages.by_id.get(stage_id)
    if stage is None:
        member.send(encode("ERR_DOUBLE_LOGIN", msg="There is no such stage."))
        return
    if member.stage:
        member.stage.leave(member)
    stage.join(member)


def _nothing(where: object, member: Member, message: Message) -> None:
    """Do nothing for NB and DEBUG, the client's notes: if they were logged, any client could fill the log."""


def _loaded(stage: Stage, member: Member, message: Message) -> None:
    stage.loaded(member)


def _info(stage: Stage, member: Member, message: Message) -> None:
    stage.reply(member, encode("MSG", message=CREDITS))


# The modes of each role. A mode that is not listed is ignored and counted.
COMMON_MODES: dict[str, CommonMode] = {"IDENT": _ident, "JOIN": _join, "NB": _nothing}
AUDIENCE_MODES: dict[str, StageMode] = {
    "DEBUG": _nothing,
    "INFO": _info,
    "LOADED": _loaded,
    "PLAY_APPLAUSE": sound.applaud,
    "TEXT": talk.text,
}
PLAYER_MODES: dict[str, StageMode] = AUDIENCE_MODES | {
    "ADJUST_VOLUME": sound.slot,
    "APPLAUSE": talk.applause,
    "AV": acting.hold,
    "AVLAYER": acting.layer,
    "AVPROPERTIES": acting.properties,
    "BACKDROP": acting.backdrop,
    "BACKDROP_FRAME": acting.backdrop_frame,
    "CLEAR_AUDIOSLOT": sound.slot,
    "DETAILS": talk.details,
    "DRAW_CLEAR": drawing.clear,
    "DRAW_LAYER": drawing.take_layer,
    "DRAW_LINE": drawing.point,
    "DRAW_MOVE": drawing.point,
    "DRAW_STYLE": drawing.style,
    "DRAW_VIS": drawing.visibility,
    "EXIT": acting.put_away,
    "FRAME": acting.frame,
    "LOAD_EFFECT": sound.load,
    "LOAD_MUSIC": sound.load,
    "LOOP_CLIP": sound.clip,
    "MOVE": acting.move,
    "MOVETOWARD": acting.walk,
    "NOAPPLAUSE": talk.applause,
    "NOVOLUNTEER": talk.volunteer,
    "PAUSE_CLIP": sound.clip,
    "PLAY_CLIP": sound.clip,
    "PMESSAGE": talk.persistent,
    "PROP": acting.prop,
    "RENAME": acting.rename,
    "SHOUT": talk.shout,
    "STOP_AUDIO": sound.slot,
    "THOUGHT": talk.thought,
    "VOLUNTEER": talk.volunteer,
    "WHISPER": talk.whisper,
}
