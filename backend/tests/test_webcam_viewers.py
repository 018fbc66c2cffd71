"""Webcams: how long a page waits for the next picture, and how many pages may wait."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from backend.tests.fake_reactor import Reactor, ticking
from upstage.net.slices import SLICE, Slices
from upstage.web.webcam import EXAMINE, Frames

JPEG = b"\xff\xd8\xff\xe0" + b"picture" + b"\xff\xd9"
START = 1_800_000_000


class Camera:
    """A folder with one camera's file, dated by a fake clock."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = Reactor()
        self.frames = Frames(folder, self.clock, now=lambda: START + self.clock.seconds())

    def shoot(self, name: str = "ann.jpg") -> None:
        new = self.folder / "new"
        new.write_bytes(JPEG)
        stamp = START + self.clock.seconds()
        os.utime(new, (stamp, stamp))
        new.replace(self.folder / name)

    def ask(self, viewer: str, name: str = "ann.jpg") -> list[float]:
        """Request a frame; return a list to which the waiting time is added when the frame has come."""
        came: list[float] = []
        began = self.clock.seconds()
        ready = self.frames.next(name, viewer)
        ready.addCallback(lambda _: came.append(round(self.clock.seconds() - began, 2)))
        return came

    def wait(self, seconds: float) -> None:
        self.clock.pump([0.01] * round(seconds * 100))


@pytest.fixture
def camera(tmp_path: Path) -> Camera:
    camera = Camera(tmp_path)
    camera.shoot()
    return camera


def test_no_wait_without_a_viewer_for_a_new_one_or_without_a_frame(camera: Camera) -> None:
    for _ in range(2):
        assert camera.ask("") == [0]
        assert camera.ask("v", "unknown.jpg") == [0]
    assert camera.ask("one") == [0]
    assert camera.ask("two") == [0]
    assert camera.frames.waiting == 0


@pytest.mark.parametrize(
    ("deed", "waited"),
    [
        (Camera.shoot, 3),
        (lambda camera: (camera.folder / "ann.jpg").unlink(), 3),
        (lambda camera: camera.wait(27), 30),
    ],
    ids=["until the frame changes", "until it is removed", "until it is 30 seconds old"],
)
def test_a_request_waits(camera: Camera, deed: Callable[[Camera], None], waited: float) -> None:
    camera.ask("one")
    came = camera.ask("one")
    camera.wait(3)
    assert came == []
    deed(camera)
    assert came == []
    camera.wait(EXAMINE + 0.01)
    assert waited < came[0] <= waited + EXAMINE + 0.01
    assert camera.frames.waiting == 0


def test_no_wait_for_an_old_frame_or_one_that_has_changed_in_between(camera: Camera) -> None:
    camera.ask("one")
    camera.wait(30 + EXAMINE)
    assert camera.ask("one") == [0]
    for _ in range(2):
        camera.shoot()  # the second comes within the same tick: only its inode differs
        assert camera.ask("one") == [0]
    assert camera.ask("one") == []


def test_a_disconnected_viewer_does_not_wait(camera: Camera) -> None:
    camera.ask("one")
    waiting = camera.frames.next("ann.jpg", "one")
    waiting.addErrback(lambda _: None)
    waiting.cancel()
    assert camera.frames.waiting == 0
    camera.wait(1)
    assert camera.clock.getDelayedCalls() == []


def test_waiting_requests_and_viewers_are_bounded(camera: Camera, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("upstage.web.webcam.MAX_WAITING", 3)
    monkeypatch.setattr("upstage.web.webcam.MAX_VIEWERS", 4)
    for viewer in "abcd":
        camera.ask(viewer)
    assert [camera.ask(viewer) for viewer in "abcd"] == [[], [], [], [0]]
    camera.ask("e")  # pushes `a` out
    camera.shoot()
    camera.wait(EXAMINE + 0.01)
    assert camera.ask("a") == []
    assert camera.ask("e") == [0]


def test_many_requests_are_answered_in_slices(camera: Camera) -> None:
    camera.frames._slices = Slices(camera.clock, ticking(SLICE / 10))
    came = []
    for number in range(100):
        camera.ask(str(number))
        came.append(camera.ask(str(number)))
    camera.shoot()
    camera.clock.rightNow += EXAMINE
    turns = 0
    while camera.frames.waiting:
        camera.clock.turn()
        turns += 1
    assert turns > 100 / 10
    assert all(came)
