"""Parsing untrusted input takes time proportional to its size, whatever it contains."""

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

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

SIZE = 100_000  # bytes; and then four times as many
NOISE = 0.003  # seconds: shorter times depend on the machine's other work


def seconds(act: Callable[[], object]) -> float:
    began = time.thread_time()
    act()
    return time.thread_time() - began


def assert_linear(make: Callable[[int], Callable[[], object]]) -> None:
    """The best of three each; the longer one ends as soon as one of them is good enough."""
    once, four_times = make(SIZE), make(4 * SIZE)
    limit = 8 * max(NOISE, min(seconds(once) for _ in range(3)))
    assert any(seconds(four_times) < limit for _ in range(3)), f"four times as much takes over {limit:.4f} s"


def style(text: str) -> Callable[[int], str]:
    return lambda size: f"<style>{text * (size // len(text))}</style>"


DRAWINGS: dict[str, Callable[[int], str]] = {
    "url": style("url("),
    "url of us": style("url(#a)"),
    "url in quotes": style("url('#a"),
    "url and spaces": lambda size: "<style>url(" + " " * size + "</style>",
    "urls and spaces": style("url(#a" + " " * 100),
    "url in an attribute": lambda size: '<path style="' + "url('" * (size // 5) + '"/>',
    "import": style("@impor t"),
    "escapes": style("\\75 "),
    "nested": lambda size: "<g>" * (size // 7) + "</g>" * (size // 7),
    "side by side": lambda size: "<g/>" * (size // 4),
    "comments": lambda size: "<!--x-->" * (size // 8),
    "a comment": lambda size: "<!--" + "x" * size + "-->",
    "an attribute": lambda size: "<path d='" + "M0 " * (size // 3) + "'/>",
    "attributes": lambda size: "<path " + " ".join(f"a{n:06}=''" for n in range(size // 11)) + "/>",
    "namespaces": lambda size: "<g " + " ".join(f"xmlns:a{n:06}='x'" for n in range(size // 18)) + "/>",
    "references": style("&#117;"),
    "CDATA": lambda size: "<style><![CDATA[" + "<" * size,
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_drawings_are_checked_in_linear_time(tmp_path: Path, name: str) -> None:
    def make(size: int) -> Callable[[], None]:
        path = tmp_path / str(size)
        path.write_text(f"<svg xmlns='http://www.w3.org/2000/svg'>{DRAWINGS[name](size)}</svg>")

        def check() -> None:
            with suppress(svg.BadSvg):
                svg.check(path)

        return check

    assert_linear(make)


def test_entities_are_rejected_in_linear_time(tmp_path: Path) -> None:
    def make(size: int) -> Callable[[], None]:
        path = tmp_path / str(size)
        path.write_text("<!DOCTYPE svg [" + "<!ENTITY a 'b'>" * (size // 15) + "]><svg/>")

        def check() -> None:
            with pytest.raises(svg.BadSvg):
                svg.check(path)

        return check

    assert_linear(make)


def test_a_drawing_that_takes_too_long_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "big.svg"
    path.write_text("<svg xmlns='http://www.w3.org/2000/svg'>" + "<g/>" * 10_000 + "</svg>")
    assert path.stat().st_size < MAX_SU_FILE
    monkeypatch.setattr(svg, "MAX_SECONDS", 0.0)
    with pytest.raises(svg.BadSvg, match="too complicated"):
        svg.check(path)


@pytest.mark.parametrize("unit", [b"\0", b"x\0", b"x" * 3000 + b"\0"])
def test_the_stage_socket_is_split_in_linear_time(unit: bytes) -> None:
    def make(size: int) -> Callable[[], None]:
        def split() -> None:
            splitter = Splitter()
            splitter.feed(unit * (size // len(unit)))
            for _ in splitter.frames():
                pass

        return split

    assert_linear(make)


@pytest.mark.parametrize("frame", [message(9), message(1, b"x"), message(2, b"\0" * 100)])
def test_a_websocket_is_split_in_linear_time(frame: bytes) -> None:
    def make(size: int) -> Callable[[], None]:
        def split() -> None:
            messages = Messages(WebSocket(ConnectionType.SERVER), lambda event: None)
            messages.feed(frame * (size // 4 // len(frame)))
            for _ in messages.frames():
                pass

        return split

    assert_linear(make)


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
