"""Merges compose.yaml and the files of extras/, as Compose does."""

import json
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from tests.stack import REPO
from tests.support.checks import check, tracked

EXTRAS = tuple(tracked("extras/*/compose.yaml"))

MACHINES = {"MACHINE": "127.0.0.1", "FIRST_MACHINE": "127.0.0.1", "OTHER_MACHINES": "127.0.0.2"}


@cache
def theatre_files() -> tuple[str, ...]:
    """Return the Compose files that `make up THEATRES="second third"` writes."""
    folder = Path(mkdtemp())
    template = (REPO / "extras" / "theatres" / "theatre.yaml").read_text()
    for port, name in enumerate(("second", "third"), start=7231):
        text = template.replace("NAME", name).replace("PUBLISHED_PORT", str(port))
        (folder / f"{name}.yaml").write_text(text.replace("STAGE_PORT", str(port)))
    return tuple(map(str, sorted(folder.iterdir())))


def merged(environment: dict[str, str], *files: str) -> dict[str, Any]:
    """Return the result of merging these files, without the .env of this checkout."""
    options = ("--env-file=/dev/null", *(f"--file={file}" for file in files))
    command = ("docker", "compose", *options, "config", "--format", "json")
    return json.loads(check(*command, env=environment | MACHINES))  # type: ignore[no-any-return]
