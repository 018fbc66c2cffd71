"""Conditional requests and ranges (RFC 9110, 13 and 14), compared with the present version of a file."""

import re
from dataclasses import dataclass

from twisted.web import http
from twisted.web.server import Request

from upstage.web.headers import header

_TAG = re.compile(r'(W/)?("[^"]*")')
_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})", re.IGNORECASE)


@dataclass(frozen=True)
class Validators:
    """A file's date, and its strong tag in nginx's form: all servers of the file must send the same tag."""

    modified: int  # seconds since 1970
    size: int  # bytes

    @property
    def tag(self) -> str:
        """The value of ETag."""
        return f'"{self.modified:x}-{self.size:x}"'

    @property
    def date(self) -> str:
        """The value of Last-Modified."""
        return str(http.datetimeToString(self.modified), "ascii")


def precondition(request: Request, file: Validators) -> int:
    """Return 200, 304 or 412, checked in the order of RFC 9110, 13.2.2. Invalid dates are ignored."""
    if expected := header(request, b"if-match"):
        if not _listed(expected, file.tag, weak=False):
            return 412
    elif (before := _seconds(header(request, b"if-unmodified-since"))) is not None and file.modified > before:
        return 412
    if known := header(request, b"if-none-match"):
        return 304 if _listed(known, file.tag, weak=True) else 200
    since = _seconds(header(request, b"if-modified-since"))
    return 304 if since is not None and file.modified <= since else 200


def span(request: Request, file: Validators) -> range | None:
    """Return the range of requested bytes, empty if the file has none of them; None for the whole file.

    One range is supported. Several ranges, or one in an unknown form, mean the whole file, as RFC 9110
    allows: many overlapping ranges would make a small request cause a large response.
    """
    match = _RANGE.fullmatch(header(request, b"range"))
    condition = header(request, b"if-range")
    if match is None or request.method != b"GET":
        return None
    if condition and condition not in (file.tag, file.date):
        return None
    first, last = match.groups()
    if not first:  # a suffix: the last N bytes
        return range(max(file.size - int(last), 0), file.size) if last else None
    if last and int(last) < int(first):
        return None
    return range(int(first), min(int(last) + 1, file.size) if last else file.size)


def _listed(field: str, tag: str, weak: bool) -> bool:
    """Return whether a list contains this strong tag or, with `weak`, the same weak tag (13.1.1, 13.1.2)."""
    return field.strip() == "*" or any(
        found == tag and (weak or not mark) for mark, found in _TAG.findall(field)
    )


def _seconds(date: str) -> int | None:
    try:
        return http.stringToDatetime(date.encode("latin-1")) if date else None
    except ValueError:
        return None
