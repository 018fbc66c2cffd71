"""The paths that the users of a foreign site walk: from a list, an access log, or a HAR file."""

import json
import re
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

MOST = 100_000  # paths
MOST_BYTES = 200_000_000  # of a file
MINE = Path(__file__).parent / "mine"
# In access logs of nginx, Apache and this project's nginx, the request is in quotation marks.
LOGGED = re.compile(r'"(GET|[A-Z]+) (/\S*) HTTP/[\d.]+"')
PATH = re.compile(r"/[!-~]*")


def read(file: Path) -> list[str]:
    """Return at most MOST paths with their queries, in order; one that occurs twice is requested twice as
    often.

    A line is a path; an address, whose path counts; or a line of an access log, if it has a GET. Empty lines
    and lines that begin with # are ignored. A HAR file is saved by a browser's developer tools: the GETs to
    the host of its first request count. Raise ValueError if there is no path, or another kind of line;
    OSError if the file cannot be read. No error quotes the file, which may be secret.
    """
    if not file.is_file():  # reading a device would never end, and a pipe would block
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
    """Return the file in mine/ that Locust's form names. Raise ValueError if it would be elsewhere.

    A command can name any file; the form cannot, because other people can reach it.
    """
    file = (MINE / name).resolve()
    if not file.is_relative_to(MINE.resolve()):
        raise ValueError("the name of a file in loadtest/mine, such as paths.txt")
    return str(file)


@cache
def paths_of(file: str) -> list[str]:
    """Return the paths that `read` finds, read once for the option's check and all users of a process."""
    return read(Path(file))


def of_har(text: str) -> list[str]:
    """Return the paths of a HAR file (https://w3c.github.io/web-performance/specs/HAR/Overview.html)."""
    try:
        requests = [entry["request"] for entry in json.loads(text)["log"]["entries"]]
        urls = [urlsplit(request["url"]) for request in requests if request["method"] == "GET"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError("not a HAR file") from error
    return [path_of(url.path, url.query) for url in urls if url.netloc == urls[0].netloc]


def of_lines(text: str) -> list[str]:
    """Return the paths of a list or of a log."""
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
    """Return path and query together, without the fragment, which no browser sends."""
    return (path or "/") + (f"?{query}" if query else "")
