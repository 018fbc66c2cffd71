"""An upgrade by docs/operations.md: `git pull` and `make up` on a stack of an older commit, with data."""

import os
import pty
import time
from pathlib import Path

import pytest

from tests.editing import has_data, leave_data
from tests.stack import PROJECT, REPO, Stack
from tests.support.checks import check, ran
from tests.support.wait import wait_until

OLD = ("e77a7d0d", "b7a1c8fa")  # commits of 23 and 25 November 2026


def unwell(stack: Stack) -> list[str]:
    """Return the containers that are not healthy."""
    states = ["docker", "ps", "-a", "--filter", f"label=com.docker.compose.project={stack.project}"]
    listed = check(*states, "--format", "{{.Names}} {{.Status}}")
    return [line for line in listed.splitlines() if "(healthy)" not in line]


@pytest.mark.slow
@pytest.mark.parametrize("old", OLD)
def test_an_upgrade_keeps_the_data_and_asks_nothing(old: str, tmp_path: Path) -> None:
    if ran("git", "cat-file", "-e", old).returncode:
        pytest.skip("this checkout has only a part of the history")
    tmp_path.chmod(0o755)
    folder = tmp_path / "stack"
    check("git", "clone", "-q", REPO, folder)
    check("git", "reset", "-q", "--hard", old, cwd=folder)
    stack = Stack("containers", f"{PROJECT}-upgrade", settings={"UPSTAGE_FESTIVAL": "off"}, folder=folder)
    try:
        stack.make("up")
        upload = leave_data(stack)
        backup = tmp_path / "backup.tar.gz"
        check("git", "pull", "-q", cwd=folder)
        time.sleep(25)  # the old containers' next health checks, each 20 s
        assert unwell(stack) == []
        ours, theirs = pty.openpty()  # a terminal, as for a person who waits
        check("make", "up", cwd=folder, env=stack.environment, stdin=theirs, timeout=400)
        os.close(ours)
        os.close(theirs)
        assert unwell(stack) == []
        stack.make("status")
        stack.wait_until_ready()
        assert has_data(stack, upload)
        stack.make("backup", f"FILE={backup}")
        assert stack.make("restore", f"FILE={backup}")
        wait_until(lambda: has_data(stack, upload), within=30)
    finally:
        stack.make("clean")
