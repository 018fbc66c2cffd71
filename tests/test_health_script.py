"""health.sh, which the engine's health checks run."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.stack import REPO


class Checked:
    """health.sh with a service whose answers are given: y or n for each check."""

    def __init__(self, folder: Path) -> None:
        self.script, self.answers, self.trace = folder / "health.sh", folder / "answers", folder / "trace"
        mark = folder / "healthy"
        self.script.write_text((REPO / "health.sh").read_text().replace("/tmp/healthy", str(mark)))
        (folder / "sleep").write_text(f'#!/bin/sh\necho "sleep $1" >>{self.trace}\n')
        (folder / "service").write_text(
            "#!/bin/sh\n"
            f"echo check >>{self.trace}\n"
            f"answer=$(head -c 1 {self.answers})\n"
            f"sed -i s/^.// {self.answers}\n"
            '[ "$answer" = y ]\n'
        )
        for name in ("sleep", "service"):
            (folder / name).chmod(0o755)
        self.environment = os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"}

    def run(self, answers: str) -> tuple[int, list[str]]:
        """Make one check, as the engine does; return its exit status and the script's actions."""
        self.answers.write_text(answers)
        self.trace.write_text("")
        done = subprocess.run(["sh", self.script, "service"], env=self.environment, check=False, timeout=60)
        return done.returncode, self.trace.read_text().splitlines()


@pytest.fixture
def checked(tmp_path: Path) -> Checked:
    return Checked(tmp_path)


def test_a_service_that_starts_is_checked_at_once_each_time(checked: Checked) -> None:
    for answer, status in (("n", 1), ("n", 1), ("y", 0)):
        assert checked.run(answer) == (status, ["check"])


def test_a_healthy_service_is_watched_until_it_fails(checked: Checked) -> None:
    checked.run("y")
    assert checked.run("yyn") == (1, ["sleep 20", "check"] * 3)
    assert checked.run("n") == (1, ["check"])
    assert checked.run("y") == (0, ["check"])
    assert checked.run("y" * 30) == (0, ["sleep 20", "check"] * 30)


def test_a_check_begins_at_once_while_another_stays(checked: Checked) -> None:
    """After `docker pause` the engine has forgotten the previous check."""
    checked.run("y")
    (checked.script.parent / "sleep").write_text(f"#!/bin/sh\nsh {checked.script} service\n")
    assert checked.run("yn") == (1, ["check", "check"])
