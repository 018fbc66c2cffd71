"""Malformed files of SQLite: clients/malformed.py runs inside the lab's own container.

Settings: `mistake`, and `remedy`, whether the right thing is done instead; `trials`, each with a new file.
"""

import json
from collections.abc import Mapping
from typing import Any

from bench.lab_stack import LabStack


def measure(stack: LabStack, settings: Mapping[str, Any]) -> dict[str, float]:
    """Some trials; raise Problem, with the program's last line, if it fails."""
    program = ("python3", "-m", "bench.clients.malformed")
    figures: dict[str, float] = json.loads(stack.run("stores", *program, json.dumps(settings)))
    return figures
