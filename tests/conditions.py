"""The table of conditional requests and ranges of docs/caching-rules.toml, asked of one path."""

import re
import tomllib
from collections.abc import Callable, Iterator

import requests

from tests.stack import REPO

OLD, NEW = "Sat, 01 Jan 2000 00:00:00 GMT", "Sat, 01 Jan 2050 00:00:00 GMT"
CARRIED = ("ETag", "Last-Modified", "Vary", "Cache-Control", "Content-Location", "Expires")

Ask = Callable[[str, dict[str, str]], requests.Response]  # method, header fields


def rows() -> list[tuple[dict[str, str], int]]:
    """Return the rows of the table: header fields, and the status."""
    rules = tomllib.loads((REPO / "docs" / "caching-rules.toml").read_text())
    return [
        (dict(field.split(": ", 1) for field in row["request"]), row["status"]) for row in rules["condition"]
    ]


def differences(ask: Ask) -> Iterator[str]:
    """Yield the rows of the table to which a path's responses do not conform."""
    ask("GET", {})
    whole = ask("GET", {})
    tag, date = whole.headers["ETag"], whole.headers["Last-Modified"]
    names = {"W/TAG": f"W/{tag.removeprefix('W/')}", "TAG": tag, "DATE": date, "OLD": OLD, "NEW": NEW}
    for fields, status in rows():
        sent = {
            name: re.sub("W/TAG|TAG|DATE|OLD|NEW", lambda found: names[found[0]], value)
            for name, value in fields.items()
        }
        if tag.startswith("W/") and "TAG" in fields.get("If-Match", "") + fields.get("If-Range", ""):
            status = 412 if "If-Match" in fields else 200
        for method in ("GET", "HEAD"):
            wanted = 200 if method == "HEAD" and status in (206, 416) else status
            response = ask(method, sent)
            told = f"{method} {sent}: {response.status_code} instead of {wanted}"
            if response.status_code != wanted:
                yield told
            other = [
                name
                for name in CARRIED
                if response.headers.get(name, "").removeprefix("W/")
                != whole.headers.get(name, "").removeprefix("W/")
                and (name, wanted) != ("Cache-Control", 412)
            ]
            if other:
                yield f"{told}, other than in a 200: {other}"
            found = [name.lower() for name, _ in response.raw.headers.iteritems()]
            if len(found) != len(set(found)):
                yield f"{told}, a field twice: {found}"
