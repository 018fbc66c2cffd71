"""`make trace`: makes one request, or takes an earlier one, and follows its ID through the servers' logs.

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

from proscenium.running import NotRunning, running

from .explaining import of_varnish
from .serverlogs import Line, backend_lines, nginx_lines
from .spans import attach, in_varnish, lines, tree
from .varnishlog import Request, requests

URL = re.compile(r"(?:http://([^/:]+)(?::(\d+))?)?(/\S*)")
SHOWN = ("Cache-Status", "Server-Timing", "Age", "Location")  # the headers that describe the outcome
ASKED = re.compile("backend:|varnish:(stale|error)")  # the outcomes of requests that reached a backend
FLUSHED = 1.5  # seconds: nginx writes its log once a second
TITLE = f"\n{'when':<84} after     for"
BOLD, OFF = ("\x1b[1m", "\x1b[0m") if sys.stdout.isatty() else ("", "")


class Refused(Exception):
    """The request cannot be made; the message says what to type."""


def parse(url: str, http_port: int, web_port: int) -> tuple[str, int, str]:
    """Return host, port and path; the port is one of the two. Raise Refused unless it is a stack's URL."""
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
        # Reads to the end; otherwise the logs would say that the client closed early.
        response = io.BytesIO(b"".join(iter(lambda: connection.recv(65536), b"")))
    return response.readline().decode("latin-1").strip(), parse_headers(response)


def show(title: str, lines: Iterable[str]) -> None:
    """Print a heading, and lines below it."""
    print(f"{BOLD}{title}{OFF}", *lines, sep="\n  ")


def logged(service: str, word: str) -> list[str]:
    """Return the lines with this word in a service's log."""
    return [line for line in running().log(service).splitlines() if word in line]


def main() -> None:
    """Print what each server did. Raise Refused or NotRunning."""
    if identity := os.environ.get("ID", ""):
        if not re.fullmatch("[0-9a-f]{32}", identity):
            raise Refused("ID is the X-Request-Id of a response: 32 digits from 0 to f")
        if line := earlier(identity):
            show(f"{line.method} http://{line.host}{line.url}", [str(line.status)])
            follow(line)
        else:
            follow_from_elsewhere(identity)
    elif made := make():
        follow(made)


def earlier(identity: str) -> Line | None:
    """Return the request from nginx's log; None if the log does not have it."""
    return next(nginx_lines(logged("nginx", f"id={identity}")), None)


def in_varnishlog(identity: str) -> list[Request]:
    """Return the requests with this ID from Varnish's log, perhaps none. Raise NotRunning."""
    by_id = f'ReqHeader:X-Request-Id eq "{identity}"'
    return requests(running().varnish("varnishlog", "-d", "-g", "request", "-q", by_id).splitlines())


def follow_from_elsewhere(identity: str) -> None:
    """Print the records of Varnish and the backend about a request that came to another machine's nginx, or
    that is no longer in nginx's log. Raise Refused if there are none.
    """
    roots = [in_varnish(request) for request in in_varnishlog(identity)]
    services = [*os.environ["THEATRES"].split(), *os.environ["BACKENDS"].split()]
    pages = [line for service in services for line in logged(service, identity)]
    roots += attach(roots, backend_lines(pages))
    if not roots:
        raise Refused(f"no log here has the request {identity}, or no longer")
    for root in roots:
        show(TITLE, lines(root))
    print("\nnginx: its log has no such request; it may have come to another machine")


def make() -> Line | None:
    """Make the request, and print the response; return the request as nginx logged it, or None if it has no
    ID because it is malformed. Raise Refused.
    """
    given = os.environ
    web_port = int(given["WEB_PORT"])
    host, port, path = parse(given.get("URL", ""), int(given["HTTP_PORT"]), web_port)
    try:
        status, headers = ask(given["BIND_ADDR"].strip("[]"), host, port, path, given.get("HEADER", ""))
    except ConnectionRefusedError:
        closed = "direct.localhost has a port of its own, {}, which is closed. Type: make up EXTRAS=direct"
        raise Refused((closed if port == web_port else "Port {} is closed.").format(port)) from None
    fields = {name: ", ".join(headers.get_all(name, [])) for name in (*SHOWN, "X-Request-Id")}
    said = [f"{name}: {fields[name]}" for name in SHOWN if fields[name]]
    show(f"GET http://{host}:{port}{path}", [status, *said])
    if not (identity := fields["X-Request-Id"]):
        return None
    if port == web_port:
        return Line("GET", path, 0, 0, identity, host="direct.localhost", answered="backend:none")
    time.sleep(FLUSHED)
    if line := earlier(identity):
        return line
    raise Refused(f"nginx's log no longer has the request {identity}")


def follow(line: Line) -> None:
    """Print what each server did with a request, as a tree with reasons; then print what the logs lack."""
    missing = []
    found: list[Request] = []
    other = re.match(r"varnish-(\d[\d.]+);", line.cache)
    if other and other[1] != os.environ.get("MACHINE"):
        missing.append(f"varnish: that of {other[1]} has answered. Type there: make trace ID={line.id}")
    else:
        try:
            found = in_varnishlog(line.id)
        except NotRunning as error:  # a user may trace a request just because Varnish has stopped
            missing.append(f"varnish: {str(error).partition(chr(10))[0]}")
        if not found and not missing and of_varnish(line):
            missing.append("varnish: its log no longer has the request")
    pages: list[str] = []
    own_app = line.host == "app.localhost" or any(seen.header("X-Own-App") for seen in found)
    backends = [] if own_app else backends_of(line)
    for backend in backends:
        pages += logged(backend, line.id)
    if not (backends or own_app) and ASKED.match(line.answered):
        first = os.environ["FIRST_MACHINE"]
        missing.append(f"backend: it runs on {first}. Type there: make trace ID={line.id}")
    if line.host == "direct.localhost":
        show("\nnginx copied the bytes: it reads no HTTP on this port", pages)
        return
    show(TITLE, lines(tree(line, found, backend_lines(pages))))
    if own_app:
        fetches = sum(len(seen.fetches) for seen in found) if found else int(line.answered == "backend:none")
        missing.append(f"your application {f'was asked {fetches} times' if fetches else 'was not asked'}")
    if missing:
        print("", *missing, sep="\n")


def backends_of(line: Line) -> list[str]:
    """Return the services of this machine whose logs may contain the request."""
    theatre = line.host.partition(".")[0]
    return [theatre] if theatre in os.environ["THEATRES"].split() else os.environ["BACKENDS"].split()


if __name__ == "__main__":
    try:
        main()
    except (Refused, NotRunning) as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # `make trace | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
