"""Request headers: their text, the host name, and whether a request comes from another site."""

import re
from urllib.parse import urlsplit

from twisted.web.http import Request

PAGE_CSP = (
    b"default-src 'self'; img-src 'self' data:; media-src 'self'; connect-src 'self' ws: wss:; "
    b"style-src 'self'; script-src 'self'; object-src 'none'; base-uri 'none'; "
    b"form-action 'self'; frame-ancestors 'none'"
)
# A name or an address, with IPv6 in brackets, and an optional port: safe in a Location header.
_HOST = re.compile(
    r"(?P<name>(?!.*\.\.)[A-Za-z0-9_][A-Za-z0-9_.-]{0,252}|\[[0-9A-Fa-f:.]{2,45}\])(:\d{0,5})?"
)


def header(request: Request, name: bytes) -> str:
    """Return a request header as text, repeated ones as one list (RFC 9110, 5.3), empty if it is missing.

    Twisted's own conversion raises on invalid UTF-8; no client must be able to cause an exception.
    """
    return b", ".join(request.requestHeaders.getRawHeaders(name, [])).decode("latin-1")


def listed(request: Request, name: bytes) -> set[str]:
    """Return the members of a header that is a list of tokens, in lower case."""
    return {member.strip(" \t").lower() for member in header(request, name).split(",")}


def host_name(request: Request) -> str | None:
    """Return the name in the Host header, without port, with IPv6 in brackets; None if it is invalid."""
    match = _HOST.fullmatch(header(request, b"host"))
    return match["name"].lower() if match else None


def same_origin(request: Request) -> bool:
    """Return whether a request comes from a page of this host, or from no page at all.

    Ports are not compared: nginx passes on the Host without the port.
    """
    origin = header(request, b"origin")
    if not origin:
        return True
    try:
        name = urlsplit(origin).hostname or ""
    except ValueError:
        return False
    if ":" in name:
        name = f"[{name}]"
    return name == host_name(request)
