"""What a user costs on each server of labs/static: its results, and the assumptions in assumptions.toml.

    PYTHONPATH=loadtest python -m bench.cost     after a full run; also puts the table into the lab's page

A machine carries as many users as it can answer, hold in its memory, and hold by its configuration.
"""

import math
import re
import tomllib
from collections.abc import Mapping
from typing import Any

from bench.house import REPO
from bench.results import Measured, Results

LAB = REPO / "labs" / "static"
RESULTS = REPO / "test-results" / "bench" / "static.json"
HEAD = (
    "| server | keeps up with, a second | bytes per connection | users of one machine | because of "
    "| machines | dollars per user and month |\n|---|---|---|---|---|---|---|\n"
)


def keeps_up(cells: list[Measured]) -> tuple[float, bool]:
    """The highest rate before the first that saturates, and whether a saturated one was seen above it."""
    best = 0.0
    for cell in sorted((one for one in cells if "rate" in one.key), key=lambda one: float(one.key["rate"])):
        if cell.problem is None and cell.median["saturated"]:
            return best, True
        if cell.problem is not None or not cell.median:
            break
        best = float(cell.key["rate"])
    return best, False


def held(cells: list[Measured]) -> tuple[int, float, bool]:
    """The most connections that were held, the bytes of each, and whether more were tried in vain."""
    tried = sorted((one for one in cells if "connections" in one.key), key=lambda one: one.key["connections"])
    good = [cell for cell in tried if cell.median]
    if not good:
        return 0, math.nan, bool(tried)
    most = good[-1]
    return int(most.key["connections"]), most.median["bytes_per_connection"], most is not tried[-1]


def row(server: str, cells: list[Measured], assumed: Mapping[str, Any]) -> str:
    """One line of the table. A server that kept up with no rate, or held nothing, has no price."""
    rate, limit_seen = keeps_up(cells)
    connections, size, more_in_vain = held(cells)
    if not rate or not connections:
        return f"| {server} | | | | | | |\n"
    users = {
        "its rate": assumed["load"] * rate * assumed["seconds_between_files"],
        "its memory": assumed["load"] * assumed["memory_bytes"] / max(size, 1.0),
    }
    if more_in_vain:
        users["the connections it could hold"] = connections
    why = min(users, key=lambda name: users[name])
    machines = math.ceil(assumed["audience"] / users[why])
    price = machines * assumed["dollars_per_hour"] * assumed["hours"] / assumed["audience"]
    at_least = "" if limit_seen else "at least "
    return (
        f"| {server} | {at_least}{rate:,.0f} | {size:,.0f} | {users[why]:,.0f} | {why} | {machines:,} "
        f"| {price:.4f} |\n"
    )


def table(results: Results, assumed: Mapping[str, Any]) -> str:
    """The table in Markdown, a server in each line."""
    servers = dict.fromkeys(str(cell.key["server"]) for cell in results.cells)
    return HEAD + "".join(
        row(server, [cell for cell in results.cells if cell.key["server"] == server], assumed)
        for server in servers
    )


def main() -> None:
    """Print the table, and replace what stands between the marks of README.md."""
    results = Results.read(RESULTS)
    if results is None or results.mode != "full" or results.finished is None:
        raise SystemExit("This takes every cell: make lab LAB=static FULL=1")
    printed = table(results, tomllib.loads((LAB / "assumptions.toml").read_text()))
    page = LAB / "README.md"
    page.write_text(
        re.sub(
            "(<!-- cost -->\n).*(<!-- /cost -->)",
            lambda marks: marks[1] + printed + marks[2],
            page.read_text(),
            flags=re.DOTALL,
        )
    )
    print(printed)


if __name__ == "__main__":
    main()
