"""The packages of the backend import one way, from floor to floor (README.md)."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from forked import SRC

MAY_IMPORT = {
    "stage": set(),
    "state": {"stage"},
    "media": {"stage", "state"},
    "mirror": {"state", "settings"},
    "backup": {"state", "mirror", "settings"},
    "net": {"stage", "settings"},
    "web": {"stage", "state", "media", "net"},
}


def imported(path: Path) -> set[str]:
    """The parts of `upstage` that a module imports."""
    modules = [
        node.module or ""
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom)
    ]
    return {module.split(".")[1] for module in modules if module.startswith("upstage.")}


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_a_package_imports_only_what_is_below_it(package: str) -> None:
    for path in (SRC / "upstage" / package).glob("*.py"):
        assert imported(path) <= MAY_IMPORT[package] | {package}, path


def test_the_stage_core_loads_without_twisted() -> None:
    modules = [f"upstage.stage.{path.stem}" for path in (SRC / "upstage" / "stage").glob("*.py")]
    code = f"import sys, {', '.join(modules)}; sys.exit('twisted' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": str(SRC)}, check=True, timeout=20)
