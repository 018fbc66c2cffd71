"""`make trace`: makes one request and follows its id through the logs of nginx, Varnish and the backend.

Run by bin/trace, which sets the environment.
"""

import io
import os
import re
import socket
import sys
import time
from collections.abc import Iterable
from email.message import Message
from http.client import parse_headers

from .explaining import explain, of_varnish
from .inside import LINES, NotRunning, inside
from .serverlogs import Line
from .steps import steps
from .varnishlog import Request, requests

URL = re.compile(r"(?:http://([^/:]+)(?::(\d+))?)?(/\S*)")
SHOWN = ("Cache-Status", "Server-Timing", "Age", "Location")  # the headers that describe the outcome
FLUSHED = 1.5  # seconds: nginx writes its log once a second
BOLD, OFF = ("\x1b[1m", "\x1b[0m") if sys.stdout.isatty() else ("", "")


class Refused(Exception):
    """The request cannot be made; the text says what to type."""


def parse(url: str, http_port: int, web_port: int) -> tuple[str, int, str]:
    """Host, port and path; the port is one of the two. Raise Refused if it is no URL of the stack."""
    found = URL.fullmatch(url)
    if not found:
        site = f"http://classic.localhost:{http_port}/media/fox.svg"
        raise Refused(f"Name the request: make trace URL=/media/fox.svg, or URL={site}")
    host = found[1] or "localhost"
    direct = host == "direct.localhost" or found[2] == str(web_port)
    return host, web_port if direct else http_port, found[3]


def ask(address: str, host: str, port: int, path: str, header: str) -> tuple[str, Message]:
    """Make the request; return the first line of the response, and its headers."""
    lines = [f"GET {path} HTTP/1.1", f"Host: {host}:{port}", "User-Agent: make trace", "Connection: close"]
    text = "\r\n".join([*lines, *filter(None, [header]), "", ""])
    with socket.create_connection((address, port)) as connection:
        connection.sendall(text.encode(errors="surrogateescape"))
        # Reads to the end, or the logs would say that the client closed early.
        response = io.BytesIO(b"".join(iter(lambda: connection.recv(65536), b"")))
    return response.readline().decode("latin-1").strip(), parse_headers(response)


def in_varnish(line: Line, found: list[Request]) -> list[str]:
    """Say what each Varnish did with the request, or why none has a record of it."""
    if found:
        found.sort(key=lambda seen: seen.began)
        return [f"{left:<28} {right}".rstrip() for seen in found for left, right in steps(seen)]
    if of_varnish(line):
        return ["its log no longer has the request"]
    return [f"was not asked: {explain(line, None).why}"]


def show(title: str, lines: Iterable[str]) -> None:
    """Print a heading, and lines below it."""
    print(f"{BOLD}{title}{OFF}", *lines, sep="\n  ")


def logged(service: str, word: str) -> list[str]:
    """The lines with this word in a service's log."""
    return [line for line in inside("log", service, LINES).splitlines() if word in line]


def main() -> None:
    """Print what each server did. Raise Refused or NotRunning."""
    given = os.environ
    web_port = int(given["WEB_PORT"])
    host, port, path = parse(given.get("URL", ""), int(given["HTTP_PORT"]), web_port)
    try:
        status, headers = ask(given["BIND_ADDR"], host, port, path, given.get("HEADER", ""))
    except ConnectionRefusedError:
        closed = "direct.localhost has a port of its own, {}, which is closed. Type: make up EXTRAS=direct"
        raise Refused((closed if port == web_port else "Port {} is closed.").format(port)) from None
    answer = {name: ", ".join(headers.get_all(name, [])) for name in (*SHOWN, "X-Request-Id")}
    said = [f"{name}: {answer[name]}" for name in SHOWN if answer[name]]
    show(f"GET http://{host}:{port}{path}", [status, *said])
    if not (identity := answer["X-Request-Id"]):  # a malformed request gets none
        return
    time.sleep(FLUSHED)

    by_id = f'ReqHeader:X-Request-Id eq "{identity}"'
    found = requests(inside("varnishlog", "-d", "-g", "request", "-q", by_id).splitlines())
    copied = ["copied the bytes: it reads no HTTP on this port"] if port == web_port else []
    site = "direct.localhost" if copied else host
    line = Line("GET", path, int(status.split()[1]), 0, identity, host=site, cache=answer["Cache-Status"])
    theatre = host.partition(".")[0]
    own_site = host == "nginx.site.localhost" or any(seen.header("X-Site") for seen in found)
    backends = [theatre] if theatre in given["THEATRES"].split() else given["BACKENDS"].split()

    show("\nnginx", copied or logged("nginx", f"id={identity}") or ["has nothing in its log"])
    show("\nvarnish", in_varnish(line, found))
    if own_site:
        fetches = sum(len(seen.fetches) for seen in found) if found else int(not line.cache.endswith("hit"))
        show(
            "\nyour application",
            [f"was asked {fetches} times" if fetches > 1 else "was asked" if fetches else "was not asked"],
        )
        return
    if not backends:
        show("\nbackend", ["runs on the first machine, whose log has it"])
    for backend in backends:
        show(f"\n{backend}", logged(backend, identity) or ["was not asked"])


if __name__ == "__main__":
    try:
        main()
    except (Refused, NotRunning) as error:
        sys.exit(f"\x1b[31m{error}\x1b[0m" if sys.stderr.isatty() else str(error))
    except KeyboardInterrupt:
        sys.exit(130)
