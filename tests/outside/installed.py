"""Outside tools, installed from the package registries in the versions that the files here pin."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.stack import REPO

HERE = Path(__file__).parent
PLACE = REPO / ".run" / "outside"


def install(name: str, lock: Path, command: list[str | Path], folder: Path = REPO) -> None:
    """Run an installer in a folder, unless it has already run with this lock file."""
    done = PLACE / f"{name}.lock"
    if done.exists() and done.read_bytes() == lock.read_bytes():
        return
    PLACE.mkdir(parents=True, exist_ok=True)
    output = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert output.returncode == 0, f"{name} cannot be installed:\n{output.stdout}"
    shutil.copy(lock, done)


def python_tools() -> Path:
    """Install the programs of tools.lock, Node.js among them; return their folder."""
    lock, programs = HERE / "tools.lock", PLACE / "python" / "bin"
    install("environment", lock, [sys.executable, "-m", "venv", PLACE / "python"])
    install("python", lock, [programs / "pip", "install", "-q", "--require-hashes", "-r", lock])
    return programs


def cache_tests() -> Path:
    """Install the tests of HTTP caches (tests/outside/caching/package-lock.json); return their folder."""
    packages = HERE / "caching"
    folder = shutil.copytree(packages, PLACE / "caching", dirs_exist_ok=True)
    npm: list[str | Path] = [python_tools() / "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    install("cache-tests", packages / "package-lock.json", npm, folder)
    return folder


def h2spec() -> Path:
    """Build h2spec (tests/outside/h2spec/go.mod) with the Go of this machine; return its path."""
    if not shutil.which("go"):
        pytest.skip("h2spec is built with Go, which is not installed (apt-get install golang-go)")
    program = PLACE / "h2spec"
    build: list[str | Path] = ["go", "build", "-o", program, "github.com/summerwind/h2spec/cmd/h2spec"]
    install("h2spec-modules", HERE / "h2spec" / "go.sum", build, HERE / "h2spec")
    return program
