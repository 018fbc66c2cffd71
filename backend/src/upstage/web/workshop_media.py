"""`/admin/workshop/media`: the files of the house: bringing, replacing and deleting them."""

import errno
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path

from twisted.internet.threads import deferToThread
from twisted.web.resource import Resource
from twisted.web.server import Request

from upstage.media import files as files
from upstage.net.purge import tag_of
from upstage.state.records import KINDS, Medium, NoRoom, RecordError
from upstage.web.admin import Later, SiteContext
from upstage.web.request import ErrorPage, SiteRequest
from upstage.web.templates import Pages
from upstage.web.upload import LIMIT, SU_LIMIT, Upload
from upstage.web.workshop import Rejected, WorkshopNode

HERE = "/admin/workshop/media"
MAX_MEDIA = 2000  # files, so at most 4 GB


class UploadNode(WorkshopNode):
    """A page with a form that brings a file (see `upload`)."""

    def render_POST(self, request: SiteRequest) -> bytes | Later:
        """A form with a file in it, or one like any other."""
        upload = request.body
        if not isinstance(upload, Upload):
            return super().render_POST(request)
        return self.act(request, {"action": "upload"})

    async def bring(self, request: SiteRequest, kind: str, name: str, old: Medium | None) -> tuple[str, bool]:
        """Put the file of a form where it is served; return its URL and whether the cache knows."""
        state = self.context.state
        upload = request.body
        assert isinstance(upload, Upload)
        arrived = upload.take()
        if arrived is None:
            raise self.rejection(request, upload)
        media, uploader = self.context.media, self.player(request).name
        try:
            # Not in the store's thread: the chat would wait. One at a time, for the reactor's sake.
            async with self.context.checking:
                format = await deferToThread(files.check, arrived, kind, old)
            medium = await state.store.run(files.publish, arrived, format, media, kind, name, uploader, old)
        except files.BadMedia as error:
            raise Rejected(str(error), 415) from None
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise NoRoom from error
            raise
        finally:
            arrived.unlink(missing_ok=True)
        # The cache first: the new page is for those who are told to reload.
        purged = old is None or await self.purge(medium)
        try:
            await state.change(state.database.put_medium, medium)
        except NoRoom:
            if old is None:  # a file that nobody could find would only take more room
                await state.store.run((media / medium.file).unlink)
            raise
        return medium.file, purged

    def rejection(self, request: SiteRequest, upload: Upload) -> Rejected:
        """Return what is wrong with an upload."""
        limit = SU_LIMIT if self.player(request).can_su else LIMIT
        reasons = {
            200: "Choose a file first. If you did: it is empty, or it did not arrive whole.",
            403: "This form was too old. Please try again.",
            413: f"The file is too big: you may bring up to {limit // 1_000_000} MB.",
            503: "Too many files arrive at once. Please try again.",
            507: "There is no room on the disk.",
        }
        return Rejected(
            reasons.get(upload.status, "The form could not be understood."), max(400, upload.status)
        )

    async def purge(self, medium: Medium) -> bool:
        """Have the cache forget a file; tell whether it has."""
        return await self.context.purger.purge(tag_of(medium.file))


class MediaPage(UploadNode):
    """All files, and a form for a new one."""

    actions = ()

    def getChild(self, path: bytes, request: Request) -> Resource:
        """One file; those of sounds are below `audio`, those of webcams below `video`."""
        name = path.decode("utf-8", "replace")
        if name in ("audio", "video") and request.postpath:
            name += "/" + request.postpath.pop(0).decode("utf-8", "replace")
        if name in self.context.state.now.media:
            return MediumPage(self.pages, self.context, name)
        return ErrorPage(self.pages, 404)

    def show(self, request: Request, status: int, **said: str | None) -> bytes:
        """The page."""
        now = self.context.state.now
        media = sorted(now.media.values(), key=lambda medium: (KINDS.index(medium.kind), medium.name.lower()))
        return self.page(request, "workshop_media.html", status, media=media, kinds=KINDS, **said)

    async def do_upload(self, request: SiteRequest, form: Mapping[str, str]) -> tuple[str, str]:
        """A new file."""
        upload = request.body
        assert isinstance(upload, Upload)
        if upload.status != HTTPStatus.OK:  # its fields may not be all there
            raise self.rejection(request, upload)
        if len(self.context.state.now.media) >= MAX_MEDIA:
            raise RecordError("The house has no room for more files: delete some first.")
        fields = upload.fields
        kind, name = fields.get("kind", ""), fields.get("name", "").strip()
        Medium("", kind, name, "", "", 0)  # checks them before the file is looked at
        file, _ = await self.bring(request, kind, name, None)
        return f"{HERE}/{file}", "made"


class MediumPage(UploadNode):
    """One file: where it is used, and forms to replace and to delete it."""

    actions = ("delete",)

    def __init__(self, pages: Pages, context: SiteContext, file: str) -> None:
        super().__init__(pages, context)
        self._file = file

    def show(self, request: Request, status: int, **said: str | None) -> bytes:
        """The page."""
        now = self.context.state.now
        medium = now.media.get(self._file)
        if medium is None:
            return self.pages.error(request, 404)
        stages = [s for s in now.stages.values() if any(t.file == self._file for t in s.things)]
        suffix = Path(self._file).suffix
        return self.page(
            request, "workshop_medium.html", status, medium=medium, stages=stages, suffix=suffix, **said
        )

    @property
    def _medium(self) -> Medium:
        medium = self.context.state.now.media.get(self._file)
        if medium is None:
            raise RecordError("This file is not here any more.")
        return medium

    async def do_upload(self, request: SiteRequest, form: Mapping[str, str]) -> tuple[str, str]:
        """New content under the same URL."""
        old = self._medium
        _, purged = await self.bring(request, old.kind, old.name, old)
        return f"{HERE}/{self._file}", "replaced" if purged else "not-purged"

    async def do_delete(self, request: SiteRequest, form: Mapping[str, str]) -> tuple[str, str]:
        """No such file any more, on no stage either."""
        state, medium = self.context.state, self._medium
        await state.change(state.database.remove_medium, medium.file)
        path = self.context.media / medium.file
        await state.store.run(path.unlink, missing_ok=True)
        return HERE, "removed" if await self.purge(medium) else "not-purged"
