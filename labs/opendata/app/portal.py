"""The portal: a catalogue of open data, as a WSGI application about as slow as the one of 2014.

Nothing here sleeps. Each request counts the whole catalogue again, because the application does not keep the
sums. So the size of the catalogue, OPENDATA_RECORDS, determines the cost of a page.
"""

import html
import os
import random
import sqlite3
from collections.abc import Callable, Iterable
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import parse_qs

RECORDS = int(os.environ["OPENDATA_RECORDS"])
PAGE_BYTES = 9_231  # as ab saw the front page in the article

Environ = dict[str, Any]
Row = tuple[Any, ...]


def catalogue(records: int) -> sqlite3.Connection:
    """A catalogue in memory; the same one at every start."""
    dice = random.Random(2014)
    # Apache calls from one thread at a time, but not always from the same one.
    made = sqlite3.connect(":memory:", check_same_thread=False)
    made.execute("CREATE TABLE record (id INTEGER PRIMARY KEY, experiment, kind, year, title, bytes)")
    made.executemany(
        "INSERT INTO record VALUES (?, ?, ?, ?, ?, ?)",
        (
            (
                number,
                (experiment := dice.choice(["ALICE", "ATLAS", "CMS", "LHCb"])),
                (kind := dice.choice(["Primary dataset", "Derived dataset", "Simulation", "Event display"])),
                (year := dice.randint(2010, 2013)),
                f"{experiment} {kind.lower()} {year}, part {number}",
                dice.randint(10**6, 10**12),
            )
            for number in range(records)
        ),
    )
    return made


CATALOGUE = catalogue(RECORDS)


def application(environ: Environ, start_response: Callable[..., object]) -> Iterable[bytes]:
    """The front page and the search. Each response sets a cookie, as the portal's framework did."""
    cookies = SimpleCookie(environ.get("HTTP_COOKIE", ""))
    searches = cookies["searches"].value if "searches" in cookies else "0"
    searches = searches if searches.isdecimal() else "0"
    status = "200 OK"
    if environ["PATH_INFO"] == "/":
        body = front_page()
    elif environ["PATH_INFO"] == "/search":
        searches = str(int(searches) + 1)
        body = search_page(parse_qs(environ["QUERY_STRING"]).get("q", [""])[0], searches)
    else:
        status, body = "404 Not Found", page("Not found", "<p>There is no such page here.</p>")
    headers = [
        ("Content-Type", "text/html; charset=utf-8"),
        ("Content-Length", str(len(body))),
        ("Set-Cookie", f"searches={searches}; Path=/; HttpOnly"),
    ]
    start_response(status, headers)
    return [body]


def front_page() -> bytes:
    """The sums by experiment, kind and year, and the largest records; PAGE_BYTES long."""
    sums = rows(
        "SELECT experiment, kind, count(*), sum(bytes) / 1000000000 FROM record GROUP BY experiment, kind"
    )
    years = rows("SELECT year, count(DISTINCT experiment || kind), count(*) FROM record GROUP BY year")
    largest = rows("SELECT title, bytes / 1000000000 FROM record ORDER BY bytes DESC LIMIT 150")
    content = (
        f"<p>{RECORDS} records.</p>"
        + table(("experiment", "kind", "records", "GB"), sums)
        + table(("year", "collections", "records"), years)
        + table(("the largest", "GB"), largest)
    )
    return page("Open data", content).ljust(PAGE_BYTES - 1) + b"\n"


def search_page(words: str, searches: str) -> bytes:
    """The number of records with these words in their title, and the newest of them."""
    found = "FROM record WHERE title LIKE ?"
    [(count,)] = rows(f"SELECT count(*) {found}", f"%{words}%")
    newest = rows(
        f"SELECT title, bytes / 1000000000 {found} ORDER BY year DESC, id DESC LIMIT 20", f"%{words}%"
    )
    return page(
        "Search",
        f"<p>Your search number {searches} found {count} records.</p>" + table(("the newest", "GB"), newest),
    )


def rows(query: str, *values: str) -> list[Row]:
    """The result of a query."""
    return CATALOGUE.execute(query, values).fetchall()


def table(heads: tuple[str, ...], lines: list[Row]) -> str:
    """An HTML table."""

    def line(tag: str, cells: Iterable[object]) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(str(cell))}" for cell in cells) + "\n"

    return "<table>\n" + line("th", heads) + "".join(line("td", cells) for cells in lines) + "</table>\n"


def page(title: str, content: str) -> bytes:
    """A whole page."""
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{title}</title>\n'
        f'<h1>{title}</h1>\n<form action="/search"><input name="q"><button>Search</button></form>\n{content}'
    ).encode()
