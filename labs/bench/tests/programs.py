"""The labs' own load generators, run as programs."""

import json
import os
import sys
from typing import Any

from tests.stack import REPO
from tests.support.checks import ran


def report(client: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Return the report of a program; require that it succeeds."""
    command = (sys.executable, "-m", f"labs.bench.clients.{client}", json.dumps(settings))
    done = ran(*command, env={**os.environ, "PYTHONPATH": str(REPO)}, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]
