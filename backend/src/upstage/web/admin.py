"""`/admin`: signing in and out, the workshop, and the key that a client takes to its socket."""

from urllib.parse import parse_qsl, urlencode

from twisted.web.server import Request

from upstage.accounts import FAILURE_WINDOW, Accounts, TooManyFailures
from upstage.house import House
from upstage.stage import AUDIENCE, Player
from upstage.web.headers import header, redirect, same_origin
from upstage.web.pages import PRIVATE, Pages, stage_list
from upstage.web.request import Node, SiteRequest

COOKIE = b"upstage_session"
MAX_FIELDS = 20  # in a form


class AdminNode(Node):
    """Something below /admin: never stored, and it knows who asks."""

    def __init__(self, pages: Pages, house: House, accounts: Accounts) -> None:
        super().__init__(pages)
        self.house = house
        self.accounts = accounts

    def render(self, request: Request) -> bytes | int:
        """No cache may keep any answer from here; no form from another site is taken."""
        request.setHeader(b"cache-control", PRIVATE)
        if request.method == b"POST" and not same_origin(request):
            return self.pages.error(request, 403)
        return super().render(request)

    def player(self, request: Request) -> Player:
        """Return who asks: whoever has no session is audience."""
        return self.accounts.sessions.get(_session(request)) or AUDIENCE


class AdminFolder(AdminNode):
    """`/admin` and what is below it."""

    def __init__(self, pages: Pages, house: House, accounts: Accounts) -> None:
        super().__init__(pages, house, accounts)
        self.putChild(b"", AdminPage(pages, house, accounts))
        self.putChild(b"login", Login(pages, house, accounts))
        self.putChild(b"logout", Logout(pages, house, accounts))
        self.putChild(b"id", ClientKey(pages, house, accounts))

    def render_GET(self, request: Request) -> bytes:
        """`/admin` without a slash."""
        return redirect(request, "/admin/")


class AdminPage(AdminNode):
    """`/admin/`: the workshop for those who may, the login page for all others."""

    def render_GET(self, request: Request) -> bytes:
        """One of the two pages."""
        player = self.player(request)
        if not player.can_admin:
            return self.pages.render(request, "login.html", error=None)
        stages = stage_list(self.house)
        return self.pages.render(request, "workshop.html", player=player.name, stages=stages)


class Login(AdminNode):
    """`POST /admin/login`: fields `username` and `password`, url-encoded."""

    def render_POST(self, request: SiteRequest) -> bytes:
        """Sign in and go to the workshop, or show the form again."""
        form = _form(request)
        if form is None:
            return self.pages.error(request, 415)
        name, password = form.get("username", ""), form.get("password", "")
        try:
            token = self.accounts.sign_in(name, password, request.client_address)
        except TooManyFailures:
            request.responseHeaders.setRawHeaders(b"retry-after", [b"%d" % FAILURE_WINDOW])
            return self._again(request, 429, "Too many attempts. Please wait a minute.")
        if token is None:
            return self._again(request, 401, "Name or password is wrong.")
        _set_session(request, token)
        return redirect(request, "/admin/")

    def _again(self, request: Request, status: int, error: str) -> bytes:
        request.setResponseCode(status)
        return self.pages.render(request, "login.html", error=error)


class Logout(AdminNode):
    """`POST /admin/logout`."""

    def render_POST(self, request: SiteRequest) -> bytes:
        """End the session and go to the login page."""
        self.accounts.sessions.revoke(_session(request))
        _set_session(request, "", b"; Max-Age=0")
        return redirect(request, "/admin/")


class ClientKey(AdminNode):
    """`/admin/id`: who the client is, and a new key with which it says so on its socket."""

    def render_GET(self, request: Request) -> bytes:
        """Url-encoded, in UpStage's order."""
        player = self.player(request)
        request.setHeader(b"content-type", b"text/plain; charset=utf-8")
        answer = {
            "player": player.name,
            "key": self.house.key_for(player),
            "canAct": player.can_act,
            "canAdmin": player.can_admin,
            "canSu": player.can_su,
        }
        return urlencode(answer).encode()


def _session(request: Request) -> str:
    return (request.getCookie(COOKIE) or b"").decode("latin-1")


def _set_session(request: Request, token: str, more: bytes = b"") -> None:
    cookie = COOKIE + b"=" + token.encode() + b"; Path=/; HttpOnly; SameSite=Lax" + more
    if header(request, b"x-forwarded-proto") == "https":
        cookie += b"; Secure"
    request.cookies.append(cookie)


def _form(request: SiteRequest) -> dict[str, str] | None:
    """Return a url-encoded form's fields, None if the body is something else."""
    kind = header(request, b"content-type").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        return None
    body = request.content.read().decode("utf-8", "replace")
    try:
        return dict(parse_qsl(body, keep_blank_values=True, max_num_fields=MAX_FIELDS))
    except ValueError:
        return None
