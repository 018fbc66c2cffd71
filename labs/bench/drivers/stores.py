"""Several writers and one store: clients/stores.py runs inside the lab's own container.

Settings: those of the store, as labs/stores/lab.toml has them; `workers`, "processes" or "threads";
`writers`, how many of them; `runs`, each with new files.
"""

import json
from collections.abc import Mapping
from typing import Any

from bench.lab_stack import LabStack


def measure(stack: LabStack, settings: Mapping[str, Any]) -> dict[str, float]:
    """Some runs; raise Problem, with the program's last line, if it fails; a failing store is a figure."""
    program = ("python3", "-m", "bench.clients.stores")
    figures: dict[str, float] = json.loads(stack.run("stores", *program, json.dumps(settings)))
    return figures
