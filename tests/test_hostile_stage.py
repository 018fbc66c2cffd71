"""Forty hostile stage clients, through the whole stack: chat stays quick for the others."""

import json
import subprocess
import sys

import pytest

from stack import REPO, Stack


@pytest.mark.slow  # backend/tests/test_hostile_*.py has the same clients without the proxies
@pytest.mark.parametrize("kind", ["fragment1", "ping0", "nul-only", "join"])
def test_forty_hostile_clients_do_not_stop_the_stage(stack: Stack, kind: str) -> None:
    attack = [str(REPO / "backend/tests/hostile_stage.py"), "--host", "127.0.0.1", "--kind", kind]
    ports = ["--web", str(stack.ports["HTTP_PORT"]), "--stage", str(stack.ports["SWF_PORT"])]
    done = subprocess.run(
        [sys.executable, *attack, *ports, "--connections", "40", "--seconds", "3"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    quiet, attacked = map(json.loads, done.stdout.splitlines())
    assert attacked["health_failures"] == 0
    # Without a budget for each client it took seconds; the margin is for busy machines.
    assert attacked["p50_ms"] < quiet["p50_ms"] + 250
