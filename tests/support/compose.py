"""Compose's merger of compose.yaml and the files of extras/."""

import json
from typing import Any

from tests.support.checks import check, tracked

# All but the one for Swarm, whose words Compose warns about (test_cluster.py).
EXTRAS = tuple(file for file in tracked("extras/*/compose.yaml") if "cluster" not in file)
THEATRES = "extras/theatres/example.yaml"  # what `make up THEATRES="second third"` writes
MACHINES = {"MACHINE": "127.0.0.1", "FIRST_MACHINE": "127.0.0.1", "OTHER_MACHINES": "127.0.0.2"}


def merged(environment: dict[str, str], *files: str) -> dict[str, Any]:
    """Return Compose's merger of these files, without the .env of this checkout."""
    options = ("--env-file=/dev/null", *(f"--file={file}" for file in files))
    command = ("docker", "compose", *options, "config", "--format", "json")
    return json.loads(check(*command, env=environment | MACHINES))  # type: ignore[no-any-return]
