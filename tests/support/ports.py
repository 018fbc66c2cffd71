"""TCP ports for servers that tests start: a number is drawn once, by one process."""

import contextlib
import itertools
import socket
from collections.abc import Iterator
from pathlib import Path

BLOCK = 50
LOWEST = 10_000


def _highest() -> int:
    """Return the end of our range: the kernel's first port for clients, unless that leaves us too few."""
    ephemeral = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    return ephemeral if ephemeral >= 2 * LOWEST else 60_000


def _own_ports() -> Iterator[int]:
    """Yield every port of this process's blocks, once.

    A block is claimed by binding an abstract Unix socket: its name belongs to the same network namespace as
    the ports, one process at a time can have it, and the kernel frees it when that process ends.
    """
    for start in range(LOWEST, _highest(), BLOCK):
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0proscenium-ports-{start}")
        except OSError:  # another process has it
            claim.close()
            continue
        _claims.append(claim)
        yield from range(start, start + BLOCK)


_claims: list[socket.socket] = []
_drawn = _own_ports()


def _is_free(port: int, address: str) -> bool:
    with contextlib.suppress(OSError), socket.create_server((address, port)):
        return True
    return False


def free_ports(count: int, address: str = "127.0.0.1") -> list[int]:
    """Return that many TCP ports without a listener.

    None of them has been drawn before by this process, or by another one that still runs. Raise RuntimeError
    if there are too few.
    """
    ports = list(itertools.islice((port for port in _drawn if _is_free(port, address)), count))
    if len(ports) < count:
        raise RuntimeError(f"fewer than {count} free ports on {address}")
    return ports


def free_port_range(count: int) -> tuple[int, int]:
    """Return the first and the last of that many free TCP ports in a row on 127.0.0.1."""
    ports = free_ports(count)
    while ports[-1] - ports[0] >= count:  # another program has one between them
        ports = [*ports[1:], *free_ports(1)]
    return ports[0], ports[-1]
