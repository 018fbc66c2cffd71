"""`/admin/workshop/stages`: creating and editing stages."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from twisted.web.resource import Resource
from twisted.web.server import Request

from upstage.stage.stage import Colours
from upstage.stage.things import WIDTH
from upstage.state.records import KINDS, SOUND_TYPES, RecordError, StageRecord, Thing, new_stage
from upstage.web.admin import SiteContext
from upstage.web.pages import stage_list
from upstage.web.request import SiteRequest
from upstage.web.templates import ErrorPage, Pages
from upstage.web.workshop import WorkshopNode

HERE = "/admin/workshop/stages"
COLOURS = ("page", "tools", "backdrop_and_prop", "chat")
MAX_STAGES = 200
MAX_THINGS = 200  # things on one stage: each costs every client that joins a frame and a file


class StagesEditor(WorkshopNode):
    """All stages, and a form for a new one."""

    actions = ("make",)

    def getChild(self, path: bytes, request: Request) -> Resource:
        id = path.decode("utf-8", "replace")
        if id in self.context.state.now.stages:
            return StageEditor(self.pages, self.context, id)
        return ErrorPage(self.pages, 404)

    def show(self, request: Request, status: int, **said: str | None) -> bytes:
        return self.page(
            request,
            "workshop_stages.html",
            status,
            stages=stage_list(self.context.stages, unlisted=True),
            **said,
        )

    async def do_make(self, request: SiteRequest, form: Mapping[str, str]) -> tuple[str, str]:
        state = self.context.state
        if len(state.now.stages) >= MAX_STAGES:
            raise RecordError("This server cannot take any more stages.")
        stage = new_stage(form.get("id", "").strip(), form.get("name", "").strip())
        await state.change(state.database.add_stage, stage)
        return f"{HERE}/{stage.id}", "made"


class StageEditor(WorkshopNode):
    """One stage: its name, its look, its things."""

    actions = ("save", "remove", "reset", "put", "change", "take")

    def __init__(self, pages: Pages, context: SiteContext, id: str) -> None:
        super().__init__(pages, context)
        self._id = id

    @property
    def _stage(self) -> StageRecord:
        stage = self.context.state.now.stages.get(self._id)
        if stage is None:  # another player has just removed it
            raise RecordError(f"There is no stage {self._id}.")
        return stage

    def show(self, request: Request, status: int, **said: str | None) -> bytes:
        stage = self.context.state.now.stages.get(self._id)
        if stage is None:
            return self.pages.error(request, 404)
        media = sorted(self.context.state.now.media.values(), key=lambda medium: medium.date, reverse=True)
        colours = {name: "#" + getattr(stage.colours, name)[2:] for name in COLOURS}
        return self.page(
            request,
            "workshop_stage.html",
            status,
            stage=stage,
            colours=colours,
            things={kind: stage.of_kind(kind) for kind in KINDS},
            media={kind: [medium for medium in media if medium.kind == kind] for kind in KINDS},
            sound_types=SOUND_TYPES,
            **said,
        )

    async def do_save(self, request: SiteRequest, form: Mapping[str, str]) -> tuple[str, str]:
        state = self.context.state
        splash = form.get("splash", "").replace("\r\n", "\n").strip()
        colours = Colours(**{name: form.get(name, "").replace("#", "0x", 1) for name in COLOURS})
        name, listed = form.get("name", "").strip(), "unlisted" not in form
        stage = StageRecord(self._id, name, splash, colours, listed=listed)
        await state.change(state.database.save_stage, stage)
        return f"{HERE}/{self._id}", "saved"

    async def do_remove(self, request: SiteRequest, form: Mapping[str, str]) -> tuple[str, str]:
        state = self.context.state
        await state.change(state.database.remove_stage, self._id)
        return HERE, "removed"

    async def do_reset(self, request: SiteRequest, form: Mapping[str, str]) -> tuple[str, str]:
        """Remove the stage's chat and drawings, and return its avatars to their first positions."""
        state = self.context.state
        await state.change(state.database.reset_stage, self._id)
        return f"{HERE}/{self._id}", "reset"

    async def do_put(self, request: SiteRequest, form: Mapping[str, str]) -> tuple[str, str]:
        """Put a medium on the stage, with its own name unless the form gives another."""
        medium = self.context.state.now.media.get(form.get("file", ""))
        if medium is None:
            raise RecordError("Choose a file first.")
        if len(self._stage.things) >= MAX_THINGS:
            raise RecordError("This stage cannot take any more things.")
        thing = _thing(medium.kind, 0, medium.file, form, form.get("name") or medium.name)
        if thing.kind == "avatar" and not (form.get("x") or form.get("y")):
            x, y = _free_place(self._stage.of_kind("avatar"))
            thing = replace(thing, x=x, y=y)
        return await self._write(thing)

    async def do_change(self, request: SiteRequest, form: Mapping[str, str]) -> tuple[str, str]:
        """Change a thing's name, place, voice or type."""
        old = self._find(form)
        return await self._write(_thing(old.kind, old.id, old.file, form, form.get("name", "")))

    async def do_take(self, request: SiteRequest, form: Mapping[str, str]) -> tuple[str, str]:
        state, old = self.context.state, self._find(form)
        await state.change(state.database.take_thing, self._id, old.kind, old.id)
        return f"{HERE}/{self._id}", "saved"

    def _find(self, form: Mapping[str, str]) -> Thing:
        wanted = (form.get("kind"), form.get("id"))
        for thing in self._stage.things:
            if (thing.kind, str(thing.id)) == wanted:
                return thing
        raise RecordError("This is no longer on the stage.")

    async def _write(self, thing: Thing) -> tuple[str, str]:
        state = self.context.state
        await state.change(state.database.put_thing, self._id, thing)
        return f"{HERE}/{self._id}", "saved"


def _free_place(avatars: Iterable[Thing]) -> tuple[float, float]:
    """Return the first free position, left to right, front row first; if none is free, the very first."""
    rows, columns = (175.0, 130.0, 85.0), range(40, int(WIDTH) - 30, 50)
    places = [(float(x), y) for y in rows for x in columns]
    taken = {(x, y) for x, y in places for one in avatars if abs(one.x - x) < 25 and abs(one.y - y) < 25}
    return next((place for place in places if place not in taken), places[0])


def _thing(kind: str, id: int, file: str, form: Mapping[str, str], name: str) -> Thing:
    """Return the thing that a form describes; raise RecordError."""
    try:
        x, y = float(form.get("x") or 0), float(form.get("y") or 0)
    except ValueError:
        raise RecordError("A position on the stage must be two numbers.") from None
    return Thing(
        kind,
        id,
        name.strip(),
        file,
        voice=form.get("voice", "").strip() or "default",
        x=x if kind == "avatar" else 0.0,
        y=y if kind == "avatar" else 0.0,
        type=form.get("type", "sfx") if kind == "audio" else "",
    )
