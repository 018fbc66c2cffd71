"""The Flash policy on the published port, through nginx. (All hostile clients: policyd/tests.)"""

import sys

import pytest

from tests.stack import REPO, Stack
from tests.support.checks import check


@pytest.mark.smoke
def test_the_shipped_client_accepts_the_shipped_policy(stack: Stack) -> None:
    port = str(stack.ports["POLICY_FILE_PORT"])
    program = {"PYTHONPATH": str(REPO / "policyd" / "src")}
    said = check(sys.executable, "-m", "policyd", "check", "127.0.0.1", port, env=program, timeout=60)
    assert 'to-ports="7230"' in said
