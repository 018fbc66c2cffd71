"""The state in memory, which follows the database: accounts, media and live stages.

The site's pages write through `change`; changes by other processes (the command `upstage`) are noticed
within a second. Either way, the clients of a changed stage are told to reload.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, ParamSpec, TypeVar

from twisted.application.service import Service
from twisted.internet.defer import Deferred, DeferredLock
from twisted.internet.task import LoopingCall
from twisted.logger import Logger
from twisted.python.failure import Failure

from upstage.stage.kept import Kept
from upstage.stage.players import AUDIENCE
from upstage.stage.stage import Host, Stage
from upstage.stage.stages import Stages
from upstage.stage.things import Audio, Avatar, Backdrop, Prop
from upstage.stage.wire import encode
from upstage.state import load_account, scene
from upstage.state.accounts import Accounts
from upstage.state.database import Database
from upstage.state.passwords import Passwords
from upstage.state.records import EMPTY, Medium, Snapshot, StageRecord, Thing
from upstage.state.store import Store

P = ParamSpec("P")
AllKept = dict[str, Kept]  # by the stage's ID
Live = TypeVar("Live", Avatar, Backdrop, Prop, Audio)

CAMERAS = "video/"  # prefix of the file name of a webcam's picture
CAMERA_STAGES = frozenset({"demo", "load"})  # the stages with the simulated camera
CAMERA_X, CAMERA_Y = 274.0, 86.0  # like a screen that hangs above the other avatars
POLL = 1.0  # seconds between two checks for changes by other processes

log = Logger()


class LiveState(Service):
    """The current Snapshot, `now`; the live stages and the accounts are kept in step with it."""

    def __init__(
        self,
        database: Database,
        store: Store,
        passwords: Passwords,
        stages: Stages,
        accounts: Accounts,
        reactor: Any,
    ) -> None:
        """Read everything. This blocks: call it before the reactor runs."""
        self.database = database
        self.store = store
        self._passwords = passwords
        self._stages = stages
        self._accounts = accounts
        self._one_at_a_time = DeferredLock()  # an older snapshot must not replace a newer one
        self._arriving: set[str] = set()  # webcam pictures that are being added
        self._poll = LoopingCall(self._check)
        self._poll.clock = reactor
        self.now = EMPTY
        self._sync(*self._read(EMPTY))

    def startService(self) -> None:
        """Start the threads, and check for changes by other processes."""
        super().startService()
        self.store.start()
        self._passwords.start()
        self._poll.start(POLL, now=False)

    def stopService(self) -> Deferred[None]:
        """Write queued changes; fire when the database is closed."""
        super().stopService()
        self._poll.stop()
        self._passwords.stop()
        return Deferred.fromCoroutine(self.store.stop())

    async def change(self, write: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
        """Write to the database and update this state; raise the errors of `write`, usually RecordError."""
        await self.store.run(write, *args, **kwargs)
        await self._refresh()

    def add_webcam(self, picture: str, player: str, size: int) -> None:
        """Add a webcam's medium at its first picture, so that it can be put on a stage as an avatar.

        The simulated camera's picture is put on stages immediately.
        """
        file = CAMERAS + picture
        if file in self.now.media or file in self._arriving:
            return
        self._arriving.add(file)
        medium = Medium(file, "avatar", f"Webcam {picture}", player, datetime.now(UTC).isoformat(), size)
        stages = CAMERA_STAGES & self.now.stages.keys() if player == load_account.NAME else ()
        avatar = Thing("avatar", 0, "Camera", file, x=CAMERA_X, y=CAMERA_Y)
        on = [(stage, avatar) for stage in stages]

        def failed(failure: Failure) -> None:  # the next picture causes another attempt
            log.failure("a webcam could not be added", failure=failure)

        adding = Deferred.fromCoroutine(self.change(self.database.put_medium, medium, on))
        adding.addErrback(failed).addCallback(lambda _: self._arriving.discard(file))

    def _check(self) -> Deferred[None]:
        async def check() -> None:
            if await self.store.run(self.database.changed_by_others):
                await self._refresh()

        def failed(failure: Failure) -> None:  # such as a locked file: the next check tries again
            log.failure("the database could not be read", failure=failure)

        return Deferred.fromCoroutine(check()).addErrback(failed)

    async def _refresh(self) -> None:
        async with self._one_at_a_time:
            self._sync(*await self.store.run(self._read, self.now))

    def _read(self, known: Snapshot) -> tuple[Snapshot, AllKept]:
        """Read the database, with the kept state of stages that `known` lacks or that were reset."""
        snapshot = self.database.snapshot()
        resets = {id: stage.resets for id, stage in known.stages.items()}
        fresh = [id for id, stage in snapshot.stages.items() if resets.get(id) != stage.resets]
        return snapshot, {id: self.database.kept(id) for id in fresh}

    def _sync(self, snapshot: Snapshot, kept: AllKept) -> None:
        """Bring the stages and the accounts in line with `snapshot`.

        `kept` is the kept state of the stages that are new or were reset.
        """
        before, self.now = self.now, snapshot
        self._accounts.replace_players(snapshot.accounts)
        # Players that were removed, or whose account has changed: their clients must connect again.
        stale = {name for name, old in before.accounts.items() if snapshot.accounts.get(name) != old}
        self._stages.keys.keep_if(lambda player: player.name not in stale)
        for stage in self._stages.by_id.values():
            for member in [member for member in stage.members if member.player.name in stale]:
                stage.leave(member)
                member.player = AUDIENCE
                member.send(encode("RELOAD"))
        for id in before.stages.keys() - snapshot.stages.keys():
            self._stages.remove(id)
        for id, record in snapshot.stages.items():
            if id not in before.stages:
                self._stages.add(make_stage(self._stages, record, kept[id]))
            elif self._differs(before, record):
                stage = self._stages.by_id[id]
                if id in kept:
                    reset(stage, record, kept[id])
                else:
                    rebuild(stage, record)
                stage.reload()

    def _differs(self, before: Snapshot, record: StageRecord) -> bool:
        """Return whether a stage, or the content of a file on it, has changed."""
        return record != before.stages[record.id] or any(
            before.media.get(thing.file) != self.now.media.get(thing.file) for thing in record.things
        )


def make_stage(host: Host, record: StageRecord, kept: Kept) -> Stage:
    """Return a new stage in its kept state; if it has none, in its recorded state with its first backdrop."""
    stage = Stage(host, record.id, record.name, record.splash, record.colours)
    rebuild(stage, record)
    scene.restore(stage, kept)
    return stage


def reset(stage: Stage, record: StageRecord, kept: Kept) -> None:
    """Return a live stage to its record: nothing drawn, held or played. Its members stay."""
    new = make_stage(stage.host, record, kept)
    stage.chat = new.chat
    stage.avatars, stage.props, stage.audios = new.avatars, new.props, new.audios
    stage.backdrops, stage.backdrop_shown, stage.backdrop_by = new.backdrops, new.backdrop_shown, None
    stage.layers = new.layers
    stage.applause, stage.volunteer = new.applause, new.volunteer
    rebuild(stage, record)


def rebuild(stage: Stage, record: StageRecord) -> None:
    """Update a live stage from its record. Chat, drawing, held things and sounds stay.

    If the stage had no backdrop, its first one is shown.
    """
    empty = not stage.backdrops
    stage.name, stage.splash, stage.colours = record.name, record.splash, record.colours
    stage.listed = record.listed
    stage.avatars = _merged(stage.avatars, [_avatar(thing) for thing in record.of_kind("avatar")])
    stage.backdrops = _merged(
        stage.backdrops, [Backdrop(thing.id, thing.name, thing.url) for thing in record.of_kind("backdrop")]
    )
    stage.props = _merged(
        stage.props, [Prop(thing.id, thing.name, thing.url) for thing in record.of_kind("prop")]
    )
    stage.audios = _merged(stage.audios, [_audio(thing) for thing in record.of_kind("audio")])
    for avatar, thing in zip(stage.avatars, record.of_kind("avatar"), strict=True):
        avatar.voice = thing.voice
    if empty and stage.backdrops:
        stage.backdrop_shown = stage.backdrops[0].id
    stage.check_holders()


def _avatar(thing: Thing) -> Avatar:
    avatar = Avatar(thing.id, thing.name, thing.url, thing.x, thing.y, voice=thing.voice)
    if thing.file.startswith(CAMERAS):
        avatar.medium, avatar.thumbnail = "video", f"/media/video-still/{thing.file.removeprefix(CAMERAS)}"
    return avatar


def _audio(thing: Thing) -> Audio:
    return Audio(thing.id, thing.name, thing.file.removeprefix("audio/"), thing.type)


def _merged(before: list[Live], now: list[Live]) -> list[Live]:
    """Return the things of `now`; those that were on the stage before stay the same objects, renamed."""
    known = {(thing.id, thing.url): thing for thing in before}
    things = [known.get((thing.id, thing.url), thing) for thing in now]
    for thing, new in zip(things, now, strict=True):
        thing.name = new.name
    return things
