"""A crowd on the stage: how long a line takes to reach it.

labs/stage/stage.py does it, inside the backend's container. Settings: `listeners`; `stalled`, how many more
there are who do not read; `seconds` of talk.
"""

import json
from collections.abc import Mapping
from typing import Any

from bench.house import House


def measure(house: House, settings: Mapping[str, Any]) -> dict[str, float]:
    """One crowd on a fresh server; Problem, with the program's last words, if a line got lost."""
    figures: dict[str, float] = json.loads(
        house.run("backend", "python", "/labs/stage/stage.py", json.dumps(settings))
    )
    return figures
