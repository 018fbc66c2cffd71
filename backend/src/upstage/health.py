"""The health check: asks both doors what their visitors would ask. Standard library only."""

import http.client
import socket

from upstage.settings import Endpoint, Settings

TIMEOUT = 3.0  # seconds for each door


class Unhealthy(Exception):
    """A door does not answer as it should; the message says which and how."""


def check(settings: Settings) -> None:
    """Return if both doors answer; raise Unhealthy."""
    check_web(settings.web)
    check_stage(settings.stage)


def check_web(endpoint: Endpoint) -> None:
    """GET /health must answer 200."""
    host, port = endpoint.reachable_at
    connection = http.client.HTTPConnection(host, port, timeout=TIMEOUT)
    try:
        connection.request("GET", "/health")
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        raise Unhealthy(f"web {host}:{port}: {error!r}") from error
    finally:
        connection.close()
    if status != 200:
        raise Unhealthy(f"web {host}:{port}: /health answered {status}")


def check_stage(endpoint: Endpoint) -> None:
    """The stage socket must greet with its SET frame, after a PROXY header if it wants one."""
    host, port = endpoint.reachable_at
    greeting = b""
    try:
        with socket.create_connection((host, port), TIMEOUT) as connection:
            if endpoint.proxied:
                # Not the shorter UNKNOWN: Twisted 26.10 hangs up on it.
                connection.sendall(b"PROXY TCP4 127.0.0.1 127.0.0.1 1 1\r\n")
            while b"\0" not in greeting and len(greeting) < 100:
                piece = connection.recv(100)
                if not piece:
                    break
                greeting += piece
    except OSError as error:
        raise Unhealthy(f"stage {host}:{port}: {error!r}") from error
    if not (greeting.startswith(b"ID=sock_") and greeting.endswith(b"&mode=SET\0")):
        raise Unhealthy(f"stage {host}:{port}: greeted with {greeting!r}")
