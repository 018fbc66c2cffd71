"""A client that joins a stage and never reads: how long until the stage disconnects it.

labs/bench/clients/non_reader.py is the client; its docstring explains the settings `stage`,
`kilobytes_per_second` and `within`. The backend is restarted first, so that it loads the drawing that the lab
has put into its database.
"""

from collections.abc import Mapping
from typing import Any

from labs.bench.drivers import report
from labs.bench.lab_stack import LabStack, Problem


def measure(stack: LabStack, settings: Mapping[str, Any]) -> dict[str, float]:
    """Make one measurement. Raise Problem if the client is not disconnected within `within` seconds."""
    stack.restart("backend")
    found = report(stack, settings, "non_reader")
    if found["cut_seconds"] is None:
        raise Problem(f"a client that never reads was still there after {settings['within']} s")
    return {"cut_milliseconds": found["cut_seconds"] * 1000, "sent_bytes": found["bytes"]}
