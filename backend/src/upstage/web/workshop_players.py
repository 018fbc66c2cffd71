"""`/admin/workshop/players`: accounts and rights, for administrators."""

from collections.abc import Mapping

from twisted.web.server import Request

from upstage.stage.players import Player
from upstage.state.records import RIGHTS, RecordError
from upstage.web.admin import make_player
from upstage.web.request import SiteRequest
from upstage.web.workshop import WorkshopNode

HERE = "/admin/workshop/players"


class PlayersPage(WorkshopNode):
    """All players, each with a form, and a form for a new player."""

    actions = ("add", "rights", "password", "remove")

    def may(self, player: Player) -> bool:
        return player.can_su

    def show(self, request: Request, status: int, **said: str | None) -> bytes:
        accounts = list(self.context.state.now.accounts.values())
        return self.page(request, "workshop_players.html", status, accounts=accounts, rights=RIGHTS, **said)

    async def do_add(self, request: SiteRequest, form: Mapping[str, str]) -> tuple[str, str]:
        await make_player(self.context, form.get("name", "").strip(), form.get("password", ""), _rights(form))
        return HERE, "made"

    async def do_rights(self, request: SiteRequest, form: Mapping[str, str]) -> tuple[str, str]:
        state = self.context.state
        await state.change(state.database.set_rights, _name(form), _rights(form))
        return HERE, "player"

    async def do_password(self, request: SiteRequest, form: Mapping[str, str]) -> tuple[str, str]:
        state = self.context.state
        hash = await self.context.passwords.choose(form.get("password", ""))
        await state.change(state.database.set_password, _name(form), hash)
        return HERE, "player"

    async def do_remove(self, request: SiteRequest, form: Mapping[str, str]) -> tuple[str, str]:
        state = self.context.state
        await state.change(state.database.remove_player, _name(form))
        return HERE, "removed"


def _name(form: Mapping[str, str]) -> str:
    name = form.get("name", "")
    if not name:
        raise RecordError("Please name a player.")
    return name


def _rights(form: Mapping[str, str]) -> frozenset[str]:
    return frozenset(right for right in RIGHTS if form.get(right))
