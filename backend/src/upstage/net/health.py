"""The health check: connects to each listener as a client does, over a bare socket. It must start fast."""

import socket
from pathlib import Path

from upstage.settings import Settings

TIMEOUT = 3.0  # seconds for each listener
# Not the shorter PROXY UNKNOWN: Twisted 26.10 closes the connection when it receives that.
PROXY_HEADER = b"PROXY TCP4 127.0.0.1 127.0.0.1 1 1\r\n"
REQUEST = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

Address = tuple[str, int] | Path  # host and port, or a Unix socket


class Unhealthy(Exception):
    """A listener does not answer as it should; the message names it and its answer."""


def check(settings: Settings) -> None:
    """Return if all listeners answer; raise Unhealthy."""
    check_web(settings.web.reachable_at)
    check_stage(settings.stage.reachable_at, settings.stage.proxied)
    if settings.sockets:
        check_web(settings.sockets.web)
        check_stage(settings.sockets.stage, proxied=True)
        check_web(settings.sockets.direct, proxied=True)


def check_web(address: Address, proxied: bool = False) -> None:
    """Raise Unhealthy unless GET /health answers 200."""
    try:
        with connect(address) as connection:
            connection.sendall((PROXY_HEADER if proxied else b"") + REQUEST)
            response = connection.makefile("rb").readline(100)
    except OSError as error:
        raise Unhealthy(f"web {name_of(address)}: {error!r}") from error
    if response.split()[1:2] != [b"200"]:
        raise Unhealthy(f"web {name_of(address)}: /health answered {response!r}")


def check_stage(address: Address, proxied: bool) -> None:
    """Raise Unhealthy unless the stage socket sends its SET frame, after a PROXY header if it expects one."""
    greeting = b""
    try:
        with connect(address) as connection:
            if proxied:
                connection.sendall(PROXY_HEADER)
            while b"\0" not in greeting and len(greeting) < 100:
                piece = connection.recv(100)
                if not piece:
                    break
                greeting += piece
    except OSError as error:
        raise Unhealthy(f"stage {name_of(address)}: {error!r}") from error
    if not (greeting.startswith(b"ID=sock_") and greeting.endswith(b"&mode=SET\0")):
        raise Unhealthy(f"stage {name_of(address)}: greeted with {greeting!r}")


def connect(address: Address) -> socket.socket:
    """Return a connection to a listener; raise OSError."""
    if not isinstance(address, Path):
        return socket.create_connection(address, TIMEOUT)
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(TIMEOUT)
    try:
        connection.connect(str(address))
    except OSError:
        connection.close()
        raise
    return connection


def name_of(address: Address) -> str:
    """Return an address as it appears in messages and URLs: with an IPv6 address in brackets."""
    if isinstance(address, Path):
        return str(address)
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
