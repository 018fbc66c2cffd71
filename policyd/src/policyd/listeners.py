"""The listening sockets: both families by default, without complaint about one that is absent."""

import errno
import socket
from collections.abc import Sequence
from typing import Any

BACKLOG = 1024
"""Connections the kernel keeps while we are busy; it lowers this to its own maximum, somaxconn."""

ANY = ("0.0.0.0", "::")
Address = tuple[Any, ...]  # (host, port) for IPv4, two more numbers for IPv6
NO_SUCH_FAMILY = (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL, errno.EPROTONOSUPPORT)


def open_listeners(hosts: Sequence[str], port: int) -> list[socket.socket]:
    """Listen on every address of every host, or on all IPv4 and IPv6 addresses if none is given.

    Port 0 lets the kernel choose one, the same for all. Raises `OSError` with a text that names the
    address; a missing address family is passed over, but only where no host was asked for.
    """
    listeners: list[socket.socket] = []
    absent: list[OSError] = []
    try:
        for family, address in _addresses(hosts or ANY, port):
            if listeners and port == 0:
                address = (address[0], listeners[0].getsockname()[1], *address[2:])
            try:
                listeners.append(_listen(family, address))
            except OSError as problem:
                reason = _explained(problem, address)
                if hosts or problem.errno not in NO_SUCH_FAMILY:
                    raise reason from None
                absent.append(reason)
    except OSError:
        for listener in listeners:
            listener.close()
        raise
    if not listeners:
        raise absent[0]
    return listeners


def shown(listener: socket.socket) -> str:
    """The address of a listener as one writes it: `0.0.0.0:3000`, `[::]:3000`."""
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _addresses(hosts: Sequence[str], port: int) -> list[tuple[socket.AddressFamily, Address]]:
    found: dict[tuple[socket.AddressFamily, Address], None] = {}  # a set that keeps the order
    for host in hosts:
        try:
            results = socket.getaddrinfo(host, port, socket.AF_UNSPEC, socket.SOCK_STREAM)
        except socket.gaierror as problem:
            raise OSError(problem.errno, f"cannot listen on {host}: {problem.strerror}") from None
        found |= {(family, address): None for family, _, _, _, address in results}
    return list(found)


def _listen(family: socket.AddressFamily, address: Address) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        # A restarted daemon must not wait for its old connections to be forgotten.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            # Each family has a socket of its own, so addresses in the log need no ::ffff: in front.
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener


def _explained(problem: OSError, address: Address) -> OSError:
    host, port = address[:2]
    advice = ""
    if problem.errno == errno.EACCES:
        advice = " (a port below 1024 needs root or CAP_NET_BIND_SERVICE)"
    elif problem.errno == errno.EADDRINUSE:
        advice = " (another policyd running?)"
    return OSError(problem.errno, f"cannot listen on {host} port {port}: {problem.strerror}{advice}")
