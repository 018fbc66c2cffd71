"""What the pages of the workshop have in common: who may see them, actions, and what is said afterwards.

Each page has forms that post to its own URL; the button pressed is the field `action`. When it is done the
browser is sent to a page with `?said=` one of SAID, so that reloading does nothing twice.
"""

from collections.abc import Mapping
from urllib.parse import quote

from twisted.web.server import Request

from upstage.stage.players import AUDIENCE, Player
from upstage.state.passwords import Busy, PasswordError
from upstage.state.records import RecordError
from upstage.web.admin import Later, PrivateNode
from upstage.web.request import SiteRequest, redirect

SAID = {
    "saved": "Saved. Everybody on the stage has it now.",
    "made": "Done: it is there.",
    "removed": "Removed.",
    "replaced": "Replaced. Everybody sees the new one.",
    "not-purged": "Done, but the cache in front could not be told yet: until it answers, it has the old one.",
    "player": "Done. It counts from now on.",
}


class Rejected(Exception):
    """An action that cannot be done; the message is shown on the page."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class WorkshopNode(PrivateNode):
    """A page of the workshop. A subclass says how it is shown, and does what its buttons say."""

    actions: tuple[str, ...] = ()  # the method for `put` is `do_put`; it returns where to go then

    def may(self, player: Player) -> bool:
        """Tell whether somebody may see this page."""
        return player.can_admin

    def render(self, request: Request) -> bytes | int:
        """Nobody else gets further than here."""
        player = self.player(request)
        if self.may(player):
            return super().render(request)
        if player is AUDIENCE and request.method in (b"GET", b"HEAD"):
            request.setHeader(b"cache-control", b"no-store")
            return redirect(request, "/admin/")
        return self.pages.error(request, 403)

    def show(self, request: Request, status: int, **said: str | None) -> bytes:
        """Return the page; `said` and `error` are what to say on it."""
        raise NotImplementedError

    def render_GET(self, request: Request) -> bytes:
        """The page."""
        [key, *_] = (request.args or {}).get(b"said", [b""])
        return self.show(request, 200, said=SAID.get(key.decode("latin-1")), error=None)

    def render_POST(self, request: SiteRequest) -> bytes | Later:
        """Do what the button says."""
        form = self.form(request)
        if isinstance(form, int):
            return self.pages.error(request, form)
        if form.get("action") not in self.actions:
            return self.pages.error(request, 400)
        return self.act(request, form)

    async def act(self, request: SiteRequest, form: Mapping[str, str]) -> bytes:
        """Do it, and send the browser on; or show the page again and say why not."""
        try:
            where, said = await getattr(self, f"do_{form['action']}")(request, form)
        except (RecordError, PasswordError) as error:
            return self.show(request, 400, said=None, error=str(error))
        except Rejected as error:
            return self.show(request, error.status, said=None, error=str(error))
        except Busy:
            return self.pages.error(request, 503)
        return redirect(request, f"{quote(where)}?said={said}")
