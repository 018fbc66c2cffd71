"""The health check: asks every door what its visitors would ask. Standard library only."""

import http.client
import socket
from pathlib import Path

from upstage.settings import Settings

TIMEOUT = 3.0  # seconds for each door

Place = tuple[str, int] | Path  # host and port, or a Unix socket


class Unhealthy(Exception):
    """A door does not answer as it should; the message says which and how."""


def check(settings: Settings) -> None:
    """Return if all doors answer; raise Unhealthy."""
    check_web(settings.web.reachable_at)
    check_stage(settings.stage.reachable_at, settings.stage.proxied)
    if settings.sockets:
        check_web(settings.sockets.web)
        check_stage(settings.sockets.stage, proxied=True)


def check_web(place: Place) -> None:
    """GET /health must answer 200."""
    connection = http.client.HTTPConnection("localhost")
    try:
        connection.sock = connect(place)
        connection.request("GET", "/health")
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        raise Unhealthy(f"web {name_of(place)}: {error!r}") from error
    finally:
        connection.close()
    if status != 200:
        raise Unhealthy(f"web {name_of(place)}: /health answered {status}")


def check_stage(place: Place, proxied: bool) -> None:
    """The stage socket must greet with its SET frame, after a PROXY header if it wants one."""
    greeting = b""
    try:
        with connect(place) as connection:
            if proxied:
                # Not the shorter UNKNOWN: Twisted 26.10 hangs up on it.
                connection.sendall(b"PROXY TCP4 127.0.0.1 127.0.0.1 1 1\r\n")
            while b"\0" not in greeting and len(greeting) < 100:
                piece = connection.recv(100)
                if not piece:
                    break
                greeting += piece
    except OSError as error:
        raise Unhealthy(f"stage {name_of(place)}: {error!r}") from error
    if not (greeting.startswith(b"ID=sock_") and greeting.endswith(b"&mode=SET\0")):
        raise Unhealthy(f"stage {name_of(place)}: greeted with {greeting!r}")


def connect(place: Place) -> socket.socket:
    """Return a connection to a door; raise OSError."""
    if not isinstance(place, Path):
        return socket.create_connection(place, TIMEOUT)
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(TIMEOUT)
    try:
        connection.connect(str(place))
    except OSError:
        connection.close()
        raise
    return connection


def name_of(place: Place) -> str:
    """Return a door's address for a message."""
    return str(place) if isinstance(place, Path) else f"{place[0]}:{place[1]}"
