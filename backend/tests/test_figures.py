"""Figures that appear in more than one place: in code, on pages and in docs/wire-protocol.md."""

import re
from pathlib import Path

from forked import SRC
from upstage.net import connection
from upstage.stage import layers, limits, stage, wire
from upstage.stage.things import HEIGHT, WIDTH
from upstage.web.forms import MAX_FIELDS as MAX_FORM_FIELDS
from upstage.web.request import MAX_FORM
from upstage.web.templates import MESSAGES
from upstage.web.upload import MAX_FILE, MAX_SU_FILE

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
