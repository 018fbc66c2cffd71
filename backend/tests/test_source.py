"""The source: packages import in one direction only (backend/README.md), and repeated figures agree."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from backend.tests.forked import SRC
from upstage.net import connection
from upstage.stage import layers, limits, stage, wire
from upstage.stage.things import HEIGHT, WIDTH
from upstage.web.forms import MAX_FIELDS as MAX_FORM_FIELDS
from upstage.web.request import MAX_FORM
from upstage.web.templates import MESSAGES
from upstage.web.upload import MAX_FILE, MAX_SU_FILE

MAY_IMPORT = {
    "stage": set(),
    "state": {"stage"},
    "media": {"stage", "state"},
    "backup": {"state"},
    "net": {"stage", "settings"},
    "web": {"stage", "state", "media", "net"},
}


def imported(path: Path) -> set[str]:
    """Return the parts of `upstage` that a module imports."""
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
    subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": str(SRC)}, check=True, timeout=60)


PROTOCOL = (Path(__file__).parents[2] / "docs" / "wire-protocol.md").read_text()
SITE = SRC / "upstage" / "site"


def test_the_protocol_page_has_the_limits_of_the_code() -> None:
    rows = dict(re.findall(r"^\| `([A-Z_]+)` \| ([\d,]+) ", PROTOCOL, re.MULTILINE))
    modules = (connection, layers, limits, stage, wire)
    known = {name: value for module in modules for name, value in vars(module).items()}
    assert rows == {name: f"{known[name]:,.0f}" for name in rows}
    assert len(rows) == 18


def test_the_scripts_use_the_stages_size() -> None:
    script = (SITE / "script" / "geometry.js").read_text()
    assert re.findall(r"const (\w+) = (\d+);", script)[:2] == [
        ("WIDTH", f"{WIDTH:.0f}"),
        ("HEIGHT", f"{HEIGHT:.0f}"),
    ]
    form = (SITE / "templates" / "workshop_stage.html").read_text()
    assert re.findall(r'name="[xy]" .* max="(\d+)"', form) == [f"{WIDTH:.0f}", f"{HEIGHT:.0f}"]


def test_the_page_for_413_has_the_limits_of_the_code() -> None:
    player, admin = MAX_FILE // 1_000_000, MAX_SU_FILE // 1_000_000
    assert f"files of {player} MB, an administrator of {admin} MB" in MESSAGES[413]
    assert f"{MAX_FORM_FIELDS} fields and {MAX_FORM // 1024} kB" in MESSAGES[413]
