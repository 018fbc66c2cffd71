"""Figures that appear in more than one place: in code, on pages and in docs/wire-protocol.md."""

import re
from pathlib import Path

import pytest

from forked import SRC
from upstage.net.connection import HEARTBEAT
from upstage.stage.layers import MAX_MARKS
from upstage.stage.limits import (
    ADDRESS_RATE,
    BURST,
    CONNECT,
    GRACE,
    JOIN,
    MAX_PER_ADDRESS,
    MAX_UNREAD,
    MAX_WAIT,
    RATE,
)
from upstage.stage.stage import CHAT_KEPT, CHAT_REPLAY, CHAT_REPLAY_SIZE
from upstage.stage.things import HEIGHT, WIDTH
from upstage.stage.wire import MAX_FIELDS, MAX_FRAME
from upstage.web.forms import MAX_FIELDS as MAX_FORM_FIELDS
from upstage.web.request import MAX_FORM
from upstage.web.templates import MESSAGES
from upstage.web.upload import MAX_FILE, MAX_SU_FILE

PROTOCOL = (Path(__file__).parents[2] / "docs" / "wire-protocol.md").read_text()
SITE = SRC / "upstage" / "site"


@pytest.mark.parametrize(
    "sentence",
    [
        f"A frame has at most {MAX_FRAME:,} bytes and {MAX_FIELDS} pairs.",
        f"sends more than {RATE:.0f} tokens' worth a second, or {BURST:.0f} at once",
        f"disconnects it if that takes more than {GRACE:.0f} seconds",
        f"has not read `UPSTAGE_MAX_UNREAD` bytes ({MAX_UNREAD >> 10} KiB)",
        f"({MAX_PER_ADDRESS:,}: a school behind one address",
        f"would wait for {MAX_WAIT:.0f} seconds",
        f"{JOIN:.0f} more for a `JOIN`",
        f"A connection has {BURST:.0f} tokens and gets {RATE:.0f} a second.",
        f"All connections of an address together get {ADDRESS_RATE:,.0f} a",
        f"connect ({CONNECT:.0f} tokens)",
        f"heartbeat every {HEARTBEAT:.0f} seconds",
        f"at most {CHAT_REPLAY} chat lines and at most {CHAT_REPLAY_SIZE:,} characters",
        f"newest {MAX_MARKS:,} frames of each drawing layer",
        f"keeps {CHAT_KEPT:,} chat lines",
        f"1 to {WIDTH:.0f} and 1 to {HEIGHT:.0f}",
    ],
)
def test_the_protocol_page_has_the_limits_of_the_code(sentence: str) -> None:
    assert sentence in PROTOCOL


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
