"""`/admin/workshop/media`: uploading, replacing and deleting media."""

import errno
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path

from twisted.internet.threads import deferToThread
from twisted.web.resource import Resource
from twisted.web.server import Request

from upstage.media.files import BadMedia, check, publish
from upstage.net.purge import Purge, tag_of
from upstage.state.records import KINDS, Medium, NoRoom, NotWritten, RecordError
from upstage.web.admin import SiteContext
from upstage.web.request import SiteRequest
from upstage.web.templates import ErrorPage, Pages
from upstage.web.upload import MAX_FILE, MAX_SU_FILE, Upload
from upstage.web.workshop import Rejected, WorkshopNode

HERE = "/admin/workshop/media"
MAX_MEDIA = 2000  # files, which together have at most 4 GB


class UploadNode(WorkshopNode):
    """A page with an upload form (see `upload`)."""

    async def render_POST(self, request: SiteRequest) -> bytes:
        if isinstance(request.body, Upload):
            return await self.act(request, {"action": "upload"})
        return await super().render_POST(request)

    async def publish(
        self, request: SiteRequest, kind: str, name: str, old: Medium | None
    ) -> tuple[str, bool]:
        """Publish the uploaded file; return its name, and False if an old copy could not be purged from the
        cache. Raise Rejected for a file that is not accepted, NoRoom if the disk is full.
        """
        state = self.context.state
        upload = request.body
        assert isinstance(upload, Upload)
        arrived = upload.take()
        if arrived is None:
            raise self.rejection(request, upload)
        media, uploader = self.context.media, self.player(request).name
        try:
            # The check is not in the store's thread, where the chat would have to wait for it. There is one
            # check at a time, so that the reactor gets its share of CPU.
            async with self.context.checking:
                format = await deferToThread(check, arrived, kind, old)
            medium = await state.store.run(publish, arrived, format, media, kind, name, uploader, old)
        except BadMedia as error:
            raise Rejected(str(error), 415) from None
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise NoRoom("the disk is full") from error
            raise
        finally:
            arrived.unlink(missing_ok=True)
        # Purge before the change, which tells clients to reload: they must get the new file.
        purged = old is None or await self.purge(medium)
        try:
            await state.change(state.database.put_medium, medium)
        except NotWritten:
            if old is None:  # an unrecorded file would only take up room
                await state.store.run((media / medium.file).unlink)
            raise
        return medium.file, purged

    def rejection(self, request: SiteRequest, upload: Upload) -> Rejected:
        """Return the error for a rejected upload, with its status and a message for the player."""
        limit = MAX_SU_FILE if self.player(request).can_su else MAX_FILE
        reasons = {
            200: "Choose a file first. If you did, it is empty or did not arrive completely.",
            403: "This form has expired. Please try again.",
            413: f"The file is too large: you may upload up to {limit // 1_000_000} MB.",
            503: "Too many uploads at once. Please try again.",
            507: "The server's disk is full.",
        }
        return Rejected(reasons.get(upload.status, "This form is not valid."), max(400, upload.status))

    async def purge(self, medium: Medium) -> bool:
        """Purge a file from the cache; return whether that succeeded."""
        return not await self.context.purger.purge(Purge(tag_of(medium.file)))


class MediaPage(UploadNode):
    """All files, and a form for a new one."""

    actions = ()

    def getChild(self, path: bytes, request: Request) -> Resource:
        """Return the page of one file; sounds are below `audio`, webcams below `video`."""
        name = path.decode("utf-8", "replace")
        if name in ("audio", "video") and request.postpath:
            name += "/" + request.postpath.pop(0).decode("utf-8", "replace")
        if name in self.context.state.now.media:
            return MediumPage(self.pages, self.context, name)
        return ErrorPage(self.pages, 404)

    def show(self, request: Request, status: int, **said: str | None) -> bytes:
        now = self.context.state.now
        media = sorted(now.media.values(), key=lambda medium: (KINDS.index(medium.kind), medium.name.lower()))
        return self.page(request, "workshop_media.html", status, media=media, kinds=KINDS, **said)

    async def do_upload(self, request: SiteRequest, form: Mapping[str, str]) -> tuple[str, str]:
        upload = request.body
        assert isinstance(upload, Upload)
        if upload.status != HTTPStatus.OK:  # the form's fields may be incomplete
            raise self.rejection(request, upload)
        if len(self.context.state.now.media) >= MAX_MEDIA:
            raise RecordError("This server cannot take any more files. Please delete some first.")
        fields = upload.fields
        kind, name = fields.get("kind", ""), fields.get("name", "").strip()
        Medium("", kind, name, "", "", 0)  # raises for invalid fields, before the file is checked
        file, _ = await self.publish(request, kind, name, None)
        return f"{HERE}/{file}", "made"


class MediumPage(UploadNode):
    """One file: the stages that use it, and forms to replace and delete it."""

    actions = ("delete",)

    def __init__(self, pages: Pages, context: SiteContext, file: str) -> None:
        super().__init__(pages, context)
        self._file = file

    def show(self, request: Request, status: int, **said: str | None) -> bytes:
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
            raise RecordError("This file has been deleted.")
        return medium

    async def do_upload(self, request: SiteRequest, form: Mapping[str, str]) -> tuple[str, str]:
        """Publish new content under the same URL."""
        old = self._medium
        _, purged = await self.publish(request, old.kind, old.name, old)
        return f"{HERE}/{self._file}", "replaced" if purged else "not-purged"

    async def do_delete(self, request: SiteRequest, form: Mapping[str, str]) -> tuple[str, str]:
        state, medium = self.context.state, self._medium
        await state.change(state.database.remove_medium, medium.file)
        path = self.context.media / medium.file
        await state.store.run(path.unlink, missing_ok=True)
        return HERE, "removed" if await self.purge(medium) else "not-purged"
