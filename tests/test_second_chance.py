"""The second chance of `.ci/run`, for a test that fails once, twice, or does not run again."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.stack import REPO

TESTS = """
from pathlib import Path
import pytest

def attempt(name):
    path = Path(name)
    path.write_text(path.read_text() + "x" if path.exists() else "x")
    return len(path.read_text())

def test_that_passes():
    assert attempt("passes") == 1

def test_that_fails_once():
    assert attempt("once") == 2, "too early"

@pytest.fixture
def removed_once():
    yield
    assert attempt("removed") == 2, "something is left"

def test_whose_fixture_fails_once(removed_once):
    pass
"""
TWICE = "def test_that_fails_twice():\n    assert False\n"
SKIPPED = """
def test_that_is_skipped_the_second_time():
    if attempt("skipped") == 2:
        pytest.skip("not today")
    assert False
"""


def judged(folder: Path, tests: str, *first: str) -> subprocess.CompletedProcess[str]:
    """Both runs of bin/test in a folder with these tests; the second one's output and exit code."""
    (folder / "test_it.py").write_text(tests)
    (folder / "pytest.ini").write_text("[pytest]\n")
    # Without the other plugins: loading them takes seconds.
    environment = {**os.environ, "PYTHONPATH": str(REPO), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "yes"}
    plugins = ("-p", "tests.support.second_chance", "-p", "xdist")

    def run(*options: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "pytest", "-q", *plugins, *options]
        return subprocess.run(command, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE)

    assert run(*first).returncode == 1
    return run("--last-failed", "--last-failed-no-failures=none")


def test_what_passes_alone_is_unstable_and_green(tmp_path: Path) -> None:
    done = judged(tmp_path, TESTS, "-n", "2")
    unstable = (tmp_path / "test-results" / "unstable.txt").read_text().splitlines()
    assert [line.partition(": ")[0] for line in unstable] == [
        "test_it.py::test_that_fails_once",
        "test_it.py::test_whose_fixture_fails_once",
    ]
    assert "too early" in unstable[0]
    assert "something is left" in unstable[1]
    assert done.returncode == 0, done.stdout
    *_, listed, closing = done.stdout.splitlines()
    assert listed == unstable[1]
    assert closing.startswith("2 passed")


@pytest.mark.parametrize("test", [TWICE, SKIPPED])
def test_what_does_not_pass_is_red(tmp_path: Path, test: str) -> None:
    done = judged(tmp_path, TESTS + test)
    assert done.returncode == 1, done.stdout
    assert not (tmp_path / "test-results" / "unstable.txt").exists()
