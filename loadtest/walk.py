"""The paths that the users of a foreign site walk: from a list, an access log, or a HAR file."""

import json
import re
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

MOST = 100_000  # paths
MOST_BYTES = 200_000_000  # of a file
MINE = Path(__file__).parent / "mine"
# nginx's, Apache's and our own log have the request in quotation marks.
LOGGED = re.compile(r'"(GET|[A-Z]+) (/\S*) HTTP/[\d.]+"')
PATH = re.compile(r"/[!-~]*")


def read(file: Path) -> list[str]:
    """The paths with their queries, in order; one that is there twice is walked twice as often.

    A line is a path, an address, whose path is taken, or a line of an access log, of which the GETs count.
    Empty lines and those that begin with # do not. A HAR file is what a browser's developer tools save: the
    GETs to the host of its first request. Raise ValueError if there is no path, or a line that is none of
    these; OSError if the file cannot be read. No error quotes the file, which may be a secret one.
    """
    if not file.is_file():  # a device would be read for ever, and a pipe waited for
        raise ValueError(f"{file.name} is not a file")
    with file.open("rb") as opened:
        content = opened.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(f"{file.name} is larger than {MOST_BYTES // 1_000_000} MB")
    text = content.decode(errors="replace")
    found = of_har(text) if text.lstrip().startswith("{") else of_lines(text)
    if not found:
        raise ValueError(f"{file.name} has no path, such as /about")
    return found[:MOST]


def file_of_page(name: str) -> str:
    """The file in mine/ that the form of Locust's page names. Raise ValueError if it would be elsewhere.

    A command can name any file; the page cannot, because other people reach it.
    """
    file = (MINE / name).resolve()
    if not file.is_relative_to(MINE.resolve()):
        raise ValueError("the name of a file in loadtest/mine, such as paths.txt")
    return str(file)


@cache
def paths_of(file: str) -> list[str]:
    """What `read` finds in a file, once for the option's check and for all users of a process."""
    return read(Path(file))


def of_har(text: str) -> list[str]:
    """The paths of a HAR file (https://w3c.github.io/web-performance/specs/HAR/Overview.html)."""
    try:
        requests = [entry["request"] for entry in json.loads(text)["log"]["entries"]]
        urls = [urlsplit(request["url"]) for request in requests if request["method"] == "GET"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError("not a HAR file") from error
    return [path_of(url.path, url.query) for url in urls if url.netloc == urls[0].netloc]


def of_lines(text: str) -> list[str]:
    """The paths of a list, or of a log."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.strip()
        if not words or words.startswith("#"):
            continue
        if logged := LOGGED.search(words):
            if logged[1] == "GET":
                found.append(logged[2])
            continue
        if words.startswith(("http://", "https://")):
            url = urlsplit(words)
            words = path_of(url.path, url.query)
        if not PATH.fullmatch(words):
            raise ValueError(f"line {number} is neither a path nor of an access log")
        found.append(words)
    return found


def path_of(path: str, query: str) -> str:
    """Both together, without the fragment, which no browser sends."""
    return (path or "/") + (f"?{query}" if query else "")
