"""Forms, and the token that proves that a form came from one of our pages.

The token is a keyed hash of a cookie that came with the page: the session's cookie or, on pages before the
login, a cookie of the visit. A page of another site can make a browser send the cookie, but can read neither
the cookie nor the token.
"""

import hmac
import secrets
from urllib.parse import parse_qsl

from twisted.web.server import Request

from upstage.stage.keys import new_key
from upstage.web.headers import header, same_origin
from upstage.web.request import SiteRequest

SESSION = b"upstage_session"
VISIT = b"upstage_visit"
FIELD = "csrf"  # the name of the form field with the token
MAX_FIELDS = 20  # fields in a form


def read_form(request: SiteRequest) -> dict[str, str] | int:
    """Return the fields of a url-encoded form; else a status: 415 for another type, 413 for many fields."""
    kind = header(request, b"content-type").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        return 415
    body = request.content.read().decode("utf-8", "replace")
    try:
        return dict(parse_qsl(body, keep_blank_values=True, max_num_fields=MAX_FIELDS))
    except ValueError:
        return 413


def session_of(request: Request) -> str:
    """Return the token in the session cookie, empty if there is none."""
    return (request.getCookie(SESSION) or b"").decode("latin-1")


def set_cookie(request: Request, name: bytes, value: str, path: bytes = b"/", more: bytes = b"") -> None:
    """Set a cookie that scripts cannot read and that browsers do not send with forms of other sites."""
    cookie = name + b"=" + value.encode() + b"; Path=" + path + b"; HttpOnly; SameSite=Lax" + more
    if header(request, b"x-forwarded-proto") == "https":
        cookie += b"; Secure"
    request.cookies.append(cookie)


class FormTokens:
    """Issues and checks tokens; a restart invalidates all of them."""

    def __init__(self) -> None:
        self._secret = secrets.token_bytes(32)

    def issue(self, request: Request, path: bytes) -> str:
        """Return the token for a form on the page that is being rendered. A new cookie is for `path`."""
        bound = _bound_to(request)
        if not bound:
            bound = new_key().encode()
            set_cookie(request, VISIT, bound.decode(), path)
        return self._token(bound)

    def accept(self, request: Request, token: str) -> bool:
        """Return whether a form with this token comes from one of our pages."""
        bound = _bound_to(request)
        return (
            bool(bound)
            and same_origin(request)
            and hmac.compare_digest(self._token(bound).encode(), token.encode("utf-8", "replace"))
        )

    def _token(self, bound: bytes) -> str:
        return hmac.digest(self._secret, bound, "sha256").hex()


def _bound_to(request: Request) -> bytes:
    return request.getCookie(SESSION) or request.getCookie(VISIT) or b""


def is_from_a_program(request: Request) -> bool:
    """Return whether no browser can have sent this: it has no cookie, and none of the headers of which a
    browser adds at least one.

    Programs (curl, a load test) may sign in without fetching the form first. This is not a weakness: an
    attack on a user needs the user's browser, and with a POST every browser sends at least Origin or
    Sec-Fetch-Site; an attacker without a browser could fetch the form as well.
    """
    headers = request.requestHeaders
    return not any(
        headers.hasHeader(name)
        for name in ("cookie", "origin", "referer", "sec-fetch-site", "sec-fetch-mode", "sec-fetch-dest")
    )
