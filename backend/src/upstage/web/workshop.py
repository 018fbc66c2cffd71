"""The common part of the workshop's pages: access, actions, and the message after an action.

Each page has forms that post to its own URL; the field `action` names the pressed button. After an action,
the browser is redirected to a page with `?said=` and a key of SAID, so that a reload repeats nothing.
"""

from collections.abc import Mapping
from urllib.parse import quote

from twisted.web.server import Request

from upstage.stage.players import AUDIENCE, Player
from upstage.state.passwords import Busy, PasswordError
from upstage.state.records import RecordError
from upstage.web.admin import PrivateNode
from upstage.web.nodes import redirect
from upstage.web.request import SiteRequest

SAID = {
    "saved": "Saved. Everyone on the stage sees the change now.",
    "made": "Added.",
    "removed": "Removed.",
    "reset": "The stage is reset. Everyone on it loads it again.",
    "replaced": "Replaced. Everyone sees the new version now.",
    "not-purged": "Done, but the cache could not be purged yet. It may serve the old version for a while.",
    "player": "Saved. The change applies from now on.",
}


class Rejected(Exception):
    """A rejected action; the page shows the message."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class WorkshopNode(PrivateNode):
    """A page of the workshop. A subclass renders it and implements its actions."""

    # The action `put` runs the method `do_put`, which returns the next URL and a key of SAID.
    actions: tuple[str, ...] = ()

    def may(self, player: Player) -> bool:
        """Return whether a player may see this page."""
        return player.can_admin

    def render(self, request: Request) -> bytes | int:
        """Reject players without access; send visitors to the login page."""
        player = self.player(request)
        if self.may(player):
            return super().render(request)
        if player is AUDIENCE and request.method in (b"GET", b"HEAD"):
            request.setHeader(b"cache-control", b"no-store")
            return redirect(request, "/admin/")
        return self.pages.error(request, 403)

    def show(self, request: Request, status: int, **said: str | None) -> bytes:
        """Return the page; `said` and `error` are messages on it."""
        raise NotImplementedError

    def render_GET(self, request: Request) -> bytes:
        [key, *_] = (request.args or {}).get(b"said", [b""])
        return self.show(request, 200, said=SAID.get(key.decode("latin-1")), error=None)

    async def render_POST(self, request: SiteRequest) -> bytes:
        form = self.form(request)
        if isinstance(form, int):
            return self.pages.error(request, form)
        if form.get("action") not in self.actions:
            return self.pages.error(request, 400)
        return await self.act(request, form)

    async def act(self, request: SiteRequest, form: Mapping[str, str]) -> bytes:
        """Run the action and redirect the browser; if it fails, show the page again with the reason."""
        try:
            where, said = await getattr(self, f"do_{form['action']}")(request, form)
        except (RecordError, PasswordError) as error:
            return self.show(request, 400, said=None, error=str(error))
        except Rejected as error:
            return self.show(request, error.status, said=None, error=str(error))
        except Busy:
            return self.pages.error(request, 503)
        return redirect(request, f"{quote(where)}?said={said}")
