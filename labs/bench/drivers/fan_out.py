"""Many listeners on one stage: how long a line takes to reach them.

clients/fan_out.py runs inside the backend's container, with its own server. Settings: `listeners`;
`stalled`, the number of further clients that never read; `seconds` of talk.
"""

import json
from collections.abc import Mapping
from typing import Any

from bench.lab_stack import LabStack


def measure(stack: LabStack, settings: Mapping[str, Any]) -> dict[str, float]:
    """One audience on a fresh server; raise Problem, with the program's last line, if a line is lost."""
    program = ("env", "PYTHONPATH=/labs", "python", "-m", "bench.clients.fan_out")
    figures: dict[str, float] = json.loads(stack.run("backend", *program, json.dumps(settings)))
    return figures
