"""The Flash policy on the published port, through nginx. (All hostile clients: policyd/tests.)"""

import subprocess
import sys

import pytest

from stack import REPO, Stack


@pytest.mark.smoke
def test_the_shipped_client_accepts_the_shipped_policy(stack: Stack) -> None:
    port = str(stack.ports["POLICY_FILE_PORT"])
    done = subprocess.run(
        [sys.executable, "-m", "policyd", "check", "127.0.0.1", port],
        env={"PYTHONPATH": str(REPO / "policyd" / "src")},
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert done.returncode == 0, done.stderr
    assert 'to-ports="7230"' in done.stdout
