"""What a user costs on each server of labs/static: its results, and the assumptions in assumptions.toml.

A machine carries as many users as it can answer, hold in its memory, and hold by its configuration.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.results import Measured


@dataclass(frozen=True)
class Cost:
    """What one server can do, and what it takes to carry the whole audience with it.

    `rate`: requests a second that it keeps up with, or more if it was never seen saturated (`at_least`);
    `size`: bytes of a connection; `users`: on one machine, because of `why`; `dollars`: for a user and
    the period of the assumptions.
    """

    rate: float
    at_least: bool
    size: float
    users: float
    why: str
    machines: int
    dollars: float


def cost(cells: Sequence[Measured], assumed: Mapping[str, Any]) -> Cost | None:
    """The cost on the server that these cells are of; None if it kept up with no rate, or held nothing."""
    rate, limit_seen = keeps_up(cells)
    connections, size, more_in_vain = held(cells)
    if not rate or not connections:
        return None
    users = {
        "its rate": assumed["load"] * rate * assumed["seconds_between_files"],
        "its memory": assumed["load"] * assumed["memory_bytes"] / max(size, 1.0),
    }
    if more_in_vain:
        users["its connections"] = connections
    why = min(users, key=lambda name: users[name])
    machines = math.ceil(assumed["audience"] / users[why])
    price = machines * assumed["dollars_per_hour"] * assumed["hours"] / assumed["audience"]
    return Cost(rate, not limit_seen, size, users[why], why, machines, price)


def keeps_up(cells: Sequence[Measured]) -> tuple[float, bool]:
    """The highest rate before the first that saturates, and whether a saturated one was seen above it."""
    best = 0.0
    for cell in sorted((one for one in cells if "rate" in one.key), key=lambda one: float(one.key["rate"])):
        if cell.problem is None and cell.median["saturated"]:
            return best, True
        if cell.problem is not None or not cell.median:
            break
        best = float(cell.key["rate"])
    return best, False


def held(cells: Sequence[Measured]) -> tuple[int, float, bool]:
    """The most connections that were held, the bytes of each, and whether more were tried in vain."""
    tried = sorted((one for one in cells if "connections" in one.key), key=lambda one: one.key["connections"])
    good = [cell for cell in tried if cell.median]
    if not good:
        return 0, math.nan, bool(tried)
    most = good[-1]
    return int(most.key["connections"]), most.median["bytes_per_connection"], most is not tried[-1]
