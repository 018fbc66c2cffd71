"""Whether this machine has room for more copies: folders, ports, subnets and memory."""

import re
import socket
from pathlib import Path

from classroom.class_state import ClassState
from classroom.plan import PUBLISHED, Copy, PlanError, count, overlapping, parse_routes

MEMORY = 230  # MiB that a copy and the engine's part for it take: docs/teaching-class.md


def check_room(opened: ClassState, new: list[Copy]) -> None:
    """Raise PlanError if folders, ports, subnets or memory for the new copies are not free."""
    for copy in new:
        if opened.folder_of(copy).exists():
            raise PlanError(f"{opened.folder_of(copy)} exists, but belongs to no open copy. Remove it first.")
    address = opened.settings.get("BIND_ADDR", "127.0.0.1")
    for copy in new:
        for name in PUBLISHED:
            if _taken(address, copy.port(name)):
                raise PlanError(
                    f"Port {copy.port(name)} of copy {copy.number} is taken by another program. "
                    "Choose other ports, such as: CLASS_PORTS=30000"
                )
    routes = Path("/proc/net/route")
    known = parse_routes(routes.read_text()) if routes.exists() else []
    for subnet, route in overlapping(new, known):
        raise PlanError(
            f"{subnet} is in use: this machine has a route to {route}. Choose another range, such as: "
            "CLASS_SUBNETS=10.99.0.0/18"
        )
    memory = Path("/proc/meminfo").read_text()
    free = int(re.findall(r"^MemAvailable: +(\d+)", memory, re.M)[0]) // 1024  # MiB that programs can take
    if free < MEMORY * len(new):
        raise PlanError(
            f"{count(len(new), 'copy takes', 'copies take')} about {MEMORY * len(new)} MiB, "
            f"and {free} MiB are available: room for {free // MEMORY}"
        )


def _taken(address: str, port: int) -> bool:
    """Whether a program listens on that port."""
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((address, port))
        except OSError:
            return True
    return False
