"""The portal: a catalogue of open data, as a WSGI application about as slow as that of 2014.

Nothing here sleeps. Each request counts the whole catalogue again, because the application does not keep the
sums. So the size of the catalogue, OPENDATA_RECORDS, determines the cost of a page.

It serves the requests in the article's log: the front page, the search, POST /results/KEY and GET
/facet/kind/KEY for the results of a search, and files such as /gen/portal.js?HASH, which browsers revalidate.
In 2014 the key was a hash of the query, which the portal remembered; here it is the query itself in
hexadecimal.
"""

import hashlib
import html
import json
import os
import random
import sqlite3
from collections.abc import Callable, Iterable
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

RECORDS = int(os.environ["OPENDATA_RECORDS"])
PAGE_BYTES = 9_231  # the length of the front page that ab reported in the article
FORM_BYTES = 1_000  # more than any form of the portal sends
TYPES = {".css": "text/css", ".js": "text/javascript"}
ORDERS = {"newest": "year DESC, id DESC", "largest": "bytes DESC"}
FILES = {file.name: file.read_bytes() for file in sorted(Path(__file__).with_name("gen").iterdir())}
# The beginning of each file's hash: its ETag, and the query of its URL, so that changed files have new URLs.
HASHES = {name: hashlib.sha256(content).hexdigest()[:8] for name, content in FILES.items()}

Environ = dict[str, Any]
Row = tuple[Any, ...]
Reply = tuple[str, list[tuple[str, str]], bytes]  # status, headers, body


def catalogue(records: int) -> sqlite3.Connection:
    """Return a catalogue in memory, the same one at every start."""
    dice = random.Random(2014)
    # Apache calls from one thread at a time, but not always from the same thread.
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
    """Answer a request; every response sets a cookie, as those of the portal's framework did."""
    cookies = SimpleCookie(environ.get("HTTP_COOKIE", ""))
    searches = cookies["searches"].value if "searches" in cookies else "0"
    if not searches.isdecimal() or len(searches) > 9:  # int() rejects a number with thousands of digits
        searches = "0"
    if environ["PATH_INFO"] == "/search":
        searches = str(int(searches) + 1)
    status, headers, body = respond(environ, searches)
    start_response(status, [*headers, ("Set-Cookie", f"searches={searches}; Path=/; HttpOnly")])
    return [body]


def respond(environ: Environ, searches: str) -> Reply:
    """Return the response to a client; its cookie counts `searches` searches."""
    path, name = environ["PATH_INFO"], environ["PATH_INFO"].rpartition("/")[2]
    if path == "/":
        return reply("text/html; charset=utf-8", front_page())
    if path == "/search":
        words = parse_qs(environ["QUERY_STRING"]).get("q", [""])[0]
        return reply("text/html; charset=utf-8", search_page(words, searches))
    if path == f"/gen/{name}" and name in FILES:
        etag = ("ETag", f'"{HASHES[name]}"')
        if environ.get("HTTP_IF_NONE_MATCH") == etag[1]:
            return "304 Not Modified", [etag], b""
        return reply(TYPES[Path(name).suffix], FILES[name], etag)
    try:
        words = bytes.fromhex(name).decode()
    except ValueError:
        words = ""
    if path == f"/results/{name}" and words and environ["REQUEST_METHOD"] == "POST":
        length = int(environ.get("CONTENT_LENGTH") or 0)
        form = parse_qs(environ["wsgi.input"].read(min(length, FORM_BYTES)).decode("latin-1"))
        return reply("text/html; charset=utf-8", results(words, form.get("order", ["newest"])[0]))
    if path == f"/facet/kind/{name}" and words:
        return reply("application/json", facet(words))
    missing = page("Not found", "<p>There is no such page here.</p>")
    return reply("text/html; charset=utf-8", missing, status="404 Not Found")


def reply(kind: str, body: bytes, *headers: tuple[str, str], status: str = "200 OK") -> Reply:
    """Return a response with a body."""
    return status, [("Content-Type", kind), ("Content-Length", str(len(body))), *headers], body


def front_page() -> bytes:
    """Return the sums by experiment, kind and year, and the largest records; PAGE_BYTES long."""
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
    """Return the number of records with these words in their title, and the newest of these records."""
    found = "FROM record WHERE title LIKE ?"
    [(count,)] = rows(f"SELECT count(*) {found}", f"%{words}%")
    newest = rows(
        f"SELECT title, bytes / 1000000000 {found} ORDER BY year DESC, id DESC LIMIT 20", f"%{words}%"
    )
    return page(
        "Search",
        f"<p>Your search number {searches} found {count} records.</p>" + table(("the newest", "GB"), newest),
    )


def results(words: str, order: str) -> bytes:
    """Return up to five hundred records with these words in their title, as a part of a page."""
    found = rows(
        "SELECT title, year, bytes / 1000000000 FROM record WHERE title LIKE ?"  # noqa: S608  # of our table
        f" ORDER BY {ORDERS.get(order, ORDERS['newest'])} LIMIT 500",
        f"%{words}%",
    )
    return table(("title", "year", "GB"), found).encode()


def facet(words: str) -> bytes:
    """Return the number of records with these words in their title, by kind, as JSON."""
    query = "SELECT kind, count(*) FROM record WHERE title LIKE ? GROUP BY kind"
    return json.dumps(dict(rows(query, f"%{words}%"))).encode()


def rows(query: str, *values: str) -> list[Row]:
    """Return the rows that a query finds in the catalogue."""
    return CATALOGUE.execute(query, values).fetchall()


def table(heads: tuple[str, ...], lines: list[Row]) -> str:
    """Return an HTML table with these heads and lines; every cell is escaped."""

    def line(tag: str, cells: Iterable[object]) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(str(cell))}" for cell in cells) + "\n"

    return "<table>\n" + line("th", heads) + "".join(line("td", cells) for cells in lines) + "</table>\n"


def page(title: str, content: str) -> bytes:
    """Return a whole page: this content below the title and the search form."""
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{title}</title>\n'
        f'<link rel="stylesheet" href="/gen/portal.css?{HASHES["portal.css"]}">\n'
        f'<script src="/gen/portal.js?{HASHES["portal.js"]}"></script>\n'
        f'<h1>{title}</h1>\n<form action="/search"><input name="q"><button>Search</button></form>\n{content}'
    ).encode()
