"""An upgrade by docs/operations.md: `git pull` and `make up` on a stack of an older commit, with data."""

import os
import pty
import subprocess
import time
from pathlib import Path

import pytest

from editing import PASSWORD, Editor
from stack import PROJECT, REPO, Stack
from support.wait import wait_until

OLD = ("e77a7d0d", "b7a1c8fa")  # of 23 and 25 November 2026
PICTURE = b'<svg xmlns="http://www.w3.org/2000/svg"><!-- kept --></svg>'
MEDIA = "/admin/workshop/media"


def git(folder: Path, *command: str) -> None:
    subprocess.run(["git", *command], cwd=folder, check=True, capture_output=True)


def unwell(stack: Stack) -> list[str]:
    """The containers that are not healthy."""
    states = ["docker", "ps", "-a", "--filter", f"label=com.docker.compose.project={stack.project}"]
    listed = subprocess.check_output([*states, "--format", "{{.Names}} {{.Status}}"], text=True)
    return [line for line in listed.splitlines() if "(healthy)" not in line]


def leave_data(stack: Stack) -> str:
    """A player, a line of chat, an upload; return the path of the upload."""
    stack.upstage("player", "add", "ann", "--rights", "act,admin", password=PASSWORD + "\n")
    time.sleep(1)  # until the running backend has read it
    page = Editor(stack, "ann").post(MEDIA, MEDIA, PICTURE, name="Ghost", kind="avatar").url
    client = stack.stage_client()
    client.join()
    client.send("TEXT", msg="remember me")
    client.until("ANONTEXT")
    client.close()
    return "/media/" + page.removeprefix(stack.url(MEDIA)).split("?")[0].lstrip("/")


def has_data(stack: Stack, upload: str) -> bool:
    """Whether all three are there."""
    Editor(stack, "ann")
    client = stack.stage_client()
    seen = str(client.join())
    client.close()
    return "remember me" in seen and stack.get(upload).content == PICTURE


@pytest.mark.slow
@pytest.mark.parametrize("old", OLD)
def test_an_upgrade_keeps_the_data_and_asks_nothing(old: str, tmp_path: Path) -> None:
    if subprocess.run(["git", "cat-file", "-e", old], cwd=REPO, capture_output=True).returncode:
        pytest.skip("this checkout has only a part of the history")
    tmp_path.chmod(0o755)
    folder = tmp_path / "stack"
    git(tmp_path, "clone", "-q", str(REPO), str(folder))
    git(folder, "reset", "-q", "--hard", old)
    stack = Stack("containers", f"{PROJECT}-upgrade", settings={"UPSTAGE_FESTIVAL": "off"}, folder=folder)
    try:
        stack.make("up")
        upload = leave_data(stack)
        backup = tmp_path / "backup.tar.gz"
        git(folder, "pull", "-q")
        time.sleep(25)  # the old containers' next health checks, each 20 s
        assert unwell(stack) == []
        ours, theirs = pty.openpty()  # a person who waits
        done = subprocess.run(
            ["make", "up"],
            cwd=folder,
            env=stack.environment,
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=400,
        )
        os.close(ours)
        os.close(theirs)
        assert done.returncode == 0, done.stdout
        assert unwell(stack) == []
        stack.make("status")
        stack.wait_until_ready()
        assert has_data(stack, upload)
        stack.make("backup", f"FILE={backup}")
        assert stack.make("restore", f"FILE={backup}")
        wait_until(lambda: has_data(stack, upload), within=30)
    finally:
        stack.make("clean")
