"""Parsing untrusted input takes work proportional to its size, whatever it contains.

Counted, not timed: the characters and bytes that are read, or the calls of functions. Four times the input
takes some four times the work; if the work grew with the square, sixteen times.
"""

import re
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any, SupportsIndex

import pytest
from wsproto.connection import Connection as WebSocket
from wsproto.connection import ConnectionType

from fake_clients import FakeClient, acting_player
from hostile_stage import message
from upstage.media import svg
from upstage.net.websocket import Messages
from upstage.stage import talk
from upstage.stage.stages import Stages
from upstage.stage.wire import Splitter
from upstage.web.upload import MAX_SU_FILE

SIZE = 10_000  # bytes; and then four times as many


def assert_linear(work: Callable[[int], int]) -> None:
    once, four_times = work(SIZE), work(4 * SIZE)
    assert 0 < four_times <= 5 * once, (once, four_times)


class CountedText(str):
    """A text that counts the characters that its methods look at, in `read`."""

    read = 0

    def _reads(self, name: str, *arguments: Any) -> Any:
        CountedText.read += len(self)
        return getattr(str, name)(self, *arguments)

    def __contains__(self, text: str) -> bool:  # type: ignore[override]
        return bool(self._reads("__contains__", text))

    def lower(self) -> str:
        return CountedText(self._reads("lower"))

    def lstrip(self, characters: str | None = None) -> str:
        return CountedText(self._reads("lstrip", characters))

    def removeprefix(self, prefix: str) -> str:
        return CountedText(self._reads("removeprefix", prefix))

    def split(self, separator: str | None = None, most: SupportsIndex = -1) -> list[str]:
        return [CountedText(piece) for piece in self._reads("split", separator, most)]

    def partition(self, separator: str) -> tuple[str, str, str]:
        before, found, after = self._reads("partition", separator)
        return CountedText(before), found, CountedText(after)


@pytest.mark.parametrize(
    "text",
    ["url(", "url(#a)", "url('#a", "url(#a" + " " * 100, " ", "@impor t", "url('"],
)
def test_a_style_is_read_a_few_times(text: str) -> None:
    def no_pattern(stopped: FrameType, event: str, called: Any) -> None:
        """A regular expression reads as often as it likes, and cannot be counted."""
        assert event != "c_call" or not isinstance(getattr(called, "__self__", None), re.Pattern), called

    def work(size: int) -> int:
        CountedText.read = 0
        sys.setprofile(no_pattern)
        try:
            with suppress(svg.BadSvg):
                svg._check_style(CountedText("url(#a)" + text * (size // len(text))))
        finally:
            sys.setprofile(None)
        assert CountedText.read >= size  # it counts what is done
        return CountedText.read

    assert_linear(work)


@pytest.mark.parametrize("content", ["<!--" + "x" * 4 * SIZE + "-->", "<path d='" + "M0 " * SIZE + "'/>"])
def test_a_drawing_is_parsed_in_large_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str
) -> None:
    """Expat before 2.6 parses an unfinished comment or attribute again at each piece."""
    monkeypatch.setattr(svg, "PIECE", SIZE)
    pieces = 0
    read = svg._Pieces.read

    def counted(file: svg._Pieces, size: int | None = -1) -> bytes:
        nonlocal pieces
        pieces += 1
        return read(file, size)

    monkeypatch.setattr(svg._Pieces, "read", counted)
    path = tmp_path / "big.svg"
    path.write_text(f"<svg xmlns='http://www.w3.org/2000/svg'>{content}</svg>")
    svg.check(path)
    assert pieces <= path.stat().st_size / SIZE + 2


def test_a_drawing_that_takes_too_long_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "big.svg"
    path.write_text("<svg xmlns='http://www.w3.org/2000/svg'>" + "<g/>" * 10_000 + "</svg>")
    assert path.stat().st_size < MAX_SU_FILE
    monkeypatch.setattr(svg, "MAX_SECONDS", 0.0)
    with pytest.raises(svg.BadSvg, match="too complicated"):
        svg.check(path)


class CountedBytes(bytearray):
    """Counts the bytes that are searched or copied, in `read`; deleting from the front moves none."""

    read = 0

    def find(self, wanted: Any, *within: SupportsIndex | None) -> int:
        found = super().find(wanted, *within)
        CountedBytes.read += 1 + (found if found >= 0 else len(self))
        return found

    def __getitem__(self, part: Any) -> Any:
        taken = super().__getitem__(part)
        CountedBytes.read += len(taken) if isinstance(part, slice) else 1
        return CountedBytes(taken) if isinstance(part, slice) else taken


@pytest.mark.parametrize("unit", [b"\0", b"x\0", b"x" * 3000 + b"\0"])
def test_the_stage_socket_reads_each_byte_a_few_times(unit: bytes) -> None:
    def work(size: int) -> int:
        CountedBytes.read = 0
        splitter = Splitter()
        splitter._held = CountedBytes()
        splitter.feed(unit * (size // len(unit)))
        for _ in splitter.frames():
            pass
        assert isinstance(splitter._held, CountedBytes)
        return CountedBytes.read

    assert_linear(work)


@pytest.mark.parametrize("frame", [message(9), message(1, b"x"), message(2, b"\0" * 100)])
def test_a_websocket_is_split_with_as_many_calls_as_it_has_messages(frame: bytes) -> None:
    def work(size: int) -> int:
        calls = 0

        def count(stopped: FrameType, event: str, argument: Any) -> None:
            nonlocal calls
            calls += event in ("call", "c_call")

        messages = Messages(WebSocket(ConnectionType.SERVER), lambda event: None)
        sys.setprofile(count)
        try:
            messages.feed(frame * (size // len(frame)))
            for _ in messages.frames():
                pass
        finally:
            sys.setprofile(None)
        return calls

    assert_linear(work)


def test_a_whisper_to_many_names_lists_the_members_once(
    stages: Stages, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, *others = [FakeClient(stages, acting_player(name)) for name in ("ann", "bob", "eve")]
    looked = 0
    members = stages.members

    def counted() -> object:
        nonlocal looked
        looked += 1
        return members()

    monkeypatch.setattr(stages, "members", counted)
    for client in (ann, *others):
        client.heard()
    ann.send("msg=" + ",".join(f"n{number}" for number in range(300)) + ",bob,EVE%3Dhello&mode=WHISPER")
    assert looked == 1
    for other in others:
        assert other.heard() == ["senderID=ann&text=hello&mode=WHISPER"]
    assert talk.WHISPER_USAGE not in ann.heard()
