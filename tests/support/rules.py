"""Rules of a proxy as a table: a request, what the origin gets and answers, and what the client gets.

The paragraph of a rule begins with `#` and the rule in words; `for HOST in a b` repeats it. A row is

    request | what the origin gets | what it answers | what the client gets

or, if the request must not reach an origin, `request | what the client gets`. Two spaces separate words:

    GET /page  Name: value  'body'   a request; `@name` in front names the listener; after RAW the rest is
                                     sent byte for byte
    Name: value   Name ~ pattern   Name !~ pattern   no Name   header fields
    'all'   ~ pattern   !~ pattern               the body
    404   hit   ttl=60                           a status, an outcome, the lifetime that Cache-Status states
    GET /other   twice   @name                   what the origin gets, how often, and which origin gets it
    never                                        no origin is asked
    5000 bytes                                   a body of that length
    chunked                                      a body without a Content-Length
    closes                                       the origin ends the connection without a response
    down                                         the origin does not listen

`-` stands for an empty column, and `{9x}` for nine letters x. A row may continue on lines that begin with a
space.
"""

import gzip
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support import http
from tests.support.origin import Origin, Request, response

FIELD = re.compile(r"([\w-]+)(:| ~| !~) ?(.*)")


@dataclass
class Proxy:
    """The server under test: its listeners and origins by name, and a pattern for each outcome."""

    listeners: Mapping[str, http.Address]
    origins: Mapping[str, Origin]
    outcomes: Mapping[str, str]


@dataclass
class Seen:
    """A message that one side got: the head, and the body as text."""

    line: str
    headers: Mapping[str, str]
    body: str


def rules(path: Path) -> list[object]:
    """Return the rules of a file, as parameters (rule, rows) of a test."""
    paragraphs = path.read_text().strip().split("\n\n")
    found = [rule for text in paragraphs if text[0] == "#" for rule in _repeated(text)]
    return [pytest.param(*rule, id=rule[0][:70]) for rule in found]


def _repeated(paragraph: str) -> Iterator[tuple[str, list[str]]]:
    lines = paragraph.split("\n")
    title = " ".join(line[2:] for line in lines if line.startswith("#"))
    rest = "\n".join(line for line in lines if not line.startswith("#"))
    name, values = "", [""]
    if loop := re.match(r"for (\w+) in (.*)\n", rest):
        name, values, rest = loop[1], loop[2].split(), rest[loop.end() :]
    rest = re.sub(r"\{(\d+)x\}", lambda found: "x" * int(found[1]), re.sub(r"\n +", "  ", rest))
    for value in values:
        rows = re.sub(rf"\b{name}\b", lambda _, to=value: to, rest) if name else rest  # type: ignore[misc]
        yield f"{title} {value}".strip(), rows.split("\n")


def words(column: str) -> list[str]:
    """Return the words of a column; `-` means none."""
    return [word.strip() for word in re.split(r" {2,}", column) if word.strip() not in ("", "-")]


def check(row: str, proxy: Proxy) -> None:
    """Make the row's request; require what the origin gets and what the client gets."""
    columns = [*map(words, re.split(r"(?:^| +)\|(?: +|$)", row))]
    assert len(columns) in (2, 4), f"a row has two or four columns: {row}"
    request, wanted = columns[0], columns[-1]
    asked, said = columns[1:3] if len(columns) == 4 else (["never"], [])
    which = {word[1:] for word in asked if word[0] == "@"} or {*proxy.origins}

    def respond(_: Request) -> bytes:
        if "closes" in said:
            raise ValueError("the connection ends here")
        return _made(said)

    for origin in proxy.origins.values():
        origin.forget()
        origin.respond = respond
        if "down" in said:
            origin.close()
    got = _ask(request, proxy)
    requests = [request for name in sorted(which) for request in proxy.origins[name].requests]
    for origin in proxy.origins.values():
        if "down" in said:
            origin.listen()
    assert len(requests) == sum(len(origin.requests) for origin in proxy.origins.values()), row
    assert len(requests) == _times(asked, said), f"{row}\n{requests}"
    for each in requests:
        seen = Seen(f"{each.method} {each.target}", each.headers, each.body.decode())
        for word in asked:
            assert word in ("twice", *(f"@{name}" for name in which)) or _holds(word, seen, {}), (word, seen)
    content = gzip.decompress(got.body) if got.headers.get("content-encoding") == "gzip" else got.body
    response = Seen(str(got.status), got.headers, content.decode())
    for word in wanted:
        assert _holds(word, response, proxy.outcomes), f"{row}\n{word}: {response}"


def _times(asked: list[str], said: list[str]) -> int:
    return 0 if "down" in said or "never" in asked else 1 + ("twice" in asked)


def _ask(request: list[str], proxy: Proxy) -> http.Response:
    listener = request[0][1:] if request[0][0] == "@" else ""
    line, *rest = request[1:] if listener else request
    if line.startswith("RAW "):
        raw = "  ".join([line[4:], *rest]).encode("latin-1").decode("unicode_escape").encode("latin-1")
        return http.exchange(proxy.listeners[listener], raw, line.split()[1])
    fields = [(field[1], field[3]) for word in rest if (field := FIELD.fullmatch(word))]
    body = "".join(word[1:-1] for word in rest if word[0] == "'").encode()
    if body:
        fields.append(("Content-Length", str(len(body))))
    if "Host" not in dict(fields):
        fields.append(("Host", "localhost"))
    head = "".join(f"{name}: {value}\r\n" for name, value in fields)
    return http.exchange(
        proxy.listeners[listener], f"{line} HTTP/1.1\r\n{head}\r\n".encode() + body, line.split()[0]
    )


def _made(said: list[str]) -> bytes:
    """Return the bytes of a response; by default it is a 200 with the body x."""
    status, fields, body = "200", "", "x"
    for word in said:
        if word.isdigit():
            status = word
        elif size := re.fullmatch(r"(\d+) bytes", word):
            body = "x" * int(size[1])
        elif word[0] == "'":
            body = word[1:-1]
        elif word != "chunked":
            fields += f"{word}\r\n"
    head, _, content = response(body, f"{status} X").partition(b"\r\n\r\n")
    if "chunked" in said:
        head = re.sub(rb"content-length: \d+", b"transfer-encoding: chunked", head)
        content = b"%x\r\n%b\r\n0\r\n\r\n" % (len(content), content)
    if re.search("^Date:", fields, re.M):
        head = re.sub(rb"\r\ndate: [^\r]*", b"", head)
    return head + b"\r\n" + fields.encode() + b"\r\n" + (content if status != "304" else b"")


def _holds(word: str, seen: Seen, outcomes: Mapping[str, str]) -> bool:
    """Return whether a message is as a word says."""
    status = seen.headers.get("cache-status", "")
    if word in outcomes:
        return bool(re.fullmatch(outcomes[word], status))
    if lifetime := re.fullmatch(r"ttl=(\d+)", word):
        stated = re.search(r"ttl=(\d+)", status)
        return stated is not None and 0 <= int(lifetime[1]) - int(stated[1]) < 10
    if word.isdigit() or re.match("[A-Z]+ (/|http)", word):
        return seen.line == word
    if word.startswith("no "):
        return word[3:].lower() not in seen.headers
    if word[0] == "'":
        return seen.body == word[1:-1]
    if word[0] in "~!":
        return bool(re.search(word.lstrip("!~ "), seen.body)) == (word[0] == "~")
    field = FIELD.fullmatch(word)
    assert field, f"unknown word: {word}"
    value = seen.headers.get(field[1].lower(), "")
    return value == field[3] if field[2] == ":" else bool(re.search(field[3], value)) == (field[2] == " ~")
