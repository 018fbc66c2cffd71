"""The Flash policy as a player meets it: through nginx, on the published port."""

import importlib.util
import subprocess
import sys
from types import ModuleType
from typing import Any

import pytest

from stack import REPO, Stack


def load_hostile() -> ModuleType:
    """The daemon's own table of hostile clients."""
    spec = importlib.util.spec_from_file_location("hostile", REPO / "policyd" / "tests" / "hostile.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["hostile"] = module
    spec.loader.exec_module(module)
    return module


hostile = load_hostile()
DEADLINE = 5.0  # policyd's default, in seconds


def test_the_shipped_client_accepts_the_shipped_policy(stack: Stack) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "policyd",
            "check",
            "127.0.0.1",
            str(stack.ports["POLICY_FILE_PORT"]),
        ],
        env={"PYTHONPATH": str(REPO / "policyd" / "src")},
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert done.returncode == 0, done.stderr
    assert 'to-ports="7230"' in done.stdout


@pytest.mark.parametrize("client", hostile.CLIENTS, ids=lambda client: client.name)
def test_a_hostile_client_gets_what_it_deserves_and_the_next_is_served_at_once(
    stack: Stack, client: Any
) -> None:
    address = ("127.0.0.1", stack.ports["POLICY_FILE_PORT"])
    assert client.play(*address, DEADLINE) == client.expected
    assert hostile.honest(*address) == "answer"
