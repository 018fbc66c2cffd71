"""`/admin`: signing in and out, and the key that identifies a client on its socket; `/signup`."""

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

from twisted.internet.defer import DeferredLock
from twisted.web.server import Request

from upstage.media.speech import Speaker
from upstage.net.connection import Connections
from upstage.net.lane import Lane
from upstage.net.purge import Purger
from upstage.stage.players import AUDIENCE, Player
from upstage.stage.stages import Stages
from upstage.state.accounts import Accounts, check_name
from upstage.state.in_memory import LiveState
from upstage.state.login_limits import TooManyFailures, TooManyWaiting
from upstage.state.passwords import Busy, PasswordError, Passwords
from upstage.state.records import Account, RecordError
from upstage.web.forms import FIELD, SESSION, FormTokens, is_from_a_program, read_form, session_of, set_cookie
from upstage.web.headers import same_origin
from upstage.web.nodes import Node, redirect
from upstage.web.pages import stage_list
from upstage.web.request import SiteRequest
from upstage.web.templates import Pages
from upstage.web.webcam import Frames

PRIVATE = b"no-store"
MAX_PLAYERS = 1000  # sign-up is closed once there are this many accounts


@dataclass(frozen=True)
class SiteContext:
    """The parts of the server that the pages use."""

    connections: Connections
    accounts: Accounts
    passwords: Passwords
    state: LiveState
    purger: Purger
    speaker: Speaker
    frames: Frames
    media: Path
    anonymous: Lane
    signup: bool  # whether any visitor may create a player account
    tokens: FormTokens = field(default_factory=FormTokens)
    checking: DeferredLock = field(default_factory=DeferredLock)  # held while an uploaded file is checked

    @property
    def stages(self) -> Stages:
        """All stages."""
        return self.connections.stages


class PrivateNode(Node):
    """A page that depends on the session: it is never cached, and rejects forms from other sites."""

    folder = b"/admin"  # the form cookie's path: pages outside it set no cookie, so caches may keep them

    def __init__(self, pages: Pages, context: SiteContext) -> None:
        super().__init__(pages)
        self.context = context

    def render(self, request: Request) -> bytes | int:
        """Forbid caching; reject forms from other sites."""
        request.setHeader(b"cache-control", PRIVATE)
        if request.method == b"POST" and not same_origin(request):
            return self.pages.error(request, 403)
        return super().render(request)

    def player(self, request: Request) -> Player:
        """Return the session's player, AUDIENCE without a session."""
        return self.context.accounts.player(session_of(request))

    def page(self, request: Request, template: str, status: int = 200, **variables: object) -> bytes:
        """Set the status and return a page with forms; a visitor without a cookie gets the forms' cookie."""
        request.setResponseCode(status)
        known = {
            "csrf": self.context.tokens.issue(request, self.folder),
            "player": self.player(request),
            "said": None,  # the message after an action; `error` if it failed
            "error": None,
        }
        return self.pages.render(request, template, **{**known, **variables})

    def form(self, request: SiteRequest) -> dict[str, str] | int:
        """Return the fields of a form that came from one of our pages; else the status of the response."""
        form = read_form(request)
        if isinstance(form, int):
            return form
        return form if self.context.tokens.accept(request, form.get(FIELD, "")) else 403


class AdminFolder(PrivateNode):
    """`/admin` and the URLs below it; `urls` adds the workshop."""

    def __init__(self, pages: Pages, context: SiteContext) -> None:
        super().__init__(pages, context)
        self.putChild(b"", AdminPage(pages, context))
        self.putChild(b"login", Login(pages, context))
        self.putChild(b"logout", Logout(pages, context))
        self.putChild(b"id", ClientKey(pages, context))

    def render_GET(self, request: Request) -> bytes:
        return redirect(request, "/admin/")


class AdminPage(PrivateNode):
    """`/admin/`: the workshop's start page for players, the login page for all others."""

    def render_GET(self, request: Request) -> bytes:
        if self.player(request) is AUDIENCE:
            return self.page(request, "login.html", name="")
        return self.page(request, "workshop.html", stages=stage_list(self.context.stages))


class Login(PrivateNode):
    """`POST /admin/login`: takes `username` and `password`, url-encoded."""

    async def render_POST(self, request: SiteRequest) -> bytes:
        """Sign in and redirect to the workshop, or show the form again."""
        form = read_form(request)
        if isinstance(form, int):
            return self.pages.error(request, form)
        name, password = form.get("username", ""), form.get("password", "")
        # Without a form token, another site could sign a browser in, under an account of its choice.
        if not is_from_a_program(request) and not self.context.tokens.accept(request, form.get(FIELD, "")):
            return self._again(request, 403, "This form has expired. Please try again.", name)
        try:
            token = await self.context.accounts.sign_in(name, password, request.client_address)
        except TooManyFailures as error:
            request.responseHeaders.setRawHeaders(b"retry-after", [b"%d" % error.seconds])
            return self._again(
                request, 429, f"Too many wrong passwords. Please try again in {error.seconds} seconds.", name
            )
        except (Busy, TooManyWaiting):
            return self._again(request, 503, "Too many people are signing in. Please try again.", name)
        if token is None:
            # HTTP requires a challenge with every 401; browsers ignore this scheme and show no password
            # dialog.
            request.setHeader(b"www-authenticate", b'Form realm="UpStage"')
            return self._again(request, 401, "The name or the password is wrong.", name)
        set_cookie(request, SESSION, token)
        return redirect(request, "/admin/")

    def _again(self, request: Request, status: int, error: str, name: str) -> bytes:
        return self.page(request, "login.html", status, error=error, name=name)


class Logout(PrivateNode):
    """`POST /admin/logout`."""

    async def render_POST(self, request: SiteRequest) -> bytes:
        """End the session, and redirect to the login page."""
        form = self.form(request)
        if isinstance(form, int):
            return self.pages.error(request, form)
        await self.context.accounts.sign_out(session_of(request))
        set_cookie(request, SESSION, "", more=b"; Max-Age=0")
        return redirect(request, "/admin/")


class ClientKey(PrivateNode):
    """`/admin/id`: the client's player, and a new key by which the client identifies itself on its socket."""

    def render_GET(self, request: Request) -> bytes:
        """Return the fields url-encoded, in UpStage's order."""
        player = self.player(request)
        request.setHeader(b"content-type", b"text/plain; charset=utf-8")
        fields = {
            "player": player.name,
            "key": self.context.stages.key_for(player),
            "canAct": player.can_act,
            "canAdmin": player.can_admin,
            "canSu": player.can_su,
        }
        return urlencode(fields).encode()


class Signup(PrivateNode):
    """`/signup`: creates a player account with the right to act, if the settings allow it."""

    folder = b"/signup"

    def render_GET(self, request: Request) -> bytes:
        return self._page(request, 200, None)

    async def render_POST(self, request: SiteRequest) -> bytes:
        form = self.form(request) if self.context.signup else 403
        if isinstance(form, int):
            return self.pages.error(request, form)
        if len(self.context.state.now.accounts) >= MAX_PLAYERS:
            return self._page(request, 503, "This server cannot take any more players.")
        if not self.context.accounts.sign_ups.take(request.client_address):
            return self._page(
                request, 429, "Too many new accounts from your address. Please try again later."
            )
        try:
            name, password = form.get("username", ""), form.get("password", "")
            await make_player(self.context, name, password, frozenset({"act"}))
        except (RecordError, PasswordError) as error:
            return self._page(request, 400, str(error))
        except Busy:
            return self._page(request, 503, "Too many people are signing up. Please try again.")
        return redirect(request, "/admin/")

    def _page(self, request: Request, status: int, error: str | None) -> bytes:
        return self.page(request, "signup.html", status, open=self.context.signup, error=error)


async def make_player(context: SiteContext, name: str, password: str, rights: frozenset[str]) -> None:
    """Add a player; raise RecordError, PasswordError or Busy."""
    check_name(name)
    account = Account(name, await context.passwords.choose(password), rights)
    await context.state.change(context.state.database.add_player, account)
