"""Webcam frames: which requests wait, and how long, under a fake clock."""

import os
from itertools import count
from pathlib import Path

import pytest

from fake_reactor import Reactor
from upstage.net.slices import SLICE, Slices
from upstage.web import webcam
from upstage.web.webcam import EXAMINE, Frames

JPEG = b"\xff\xd8\xff\xe0picture\xff\xd9"
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
        """Request a frame; the list is empty until it has come, then it has the time."""
        came: list[float] = []
        began = self.clock.seconds()
        ready = self.frames.next(name, viewer)
        ready.addCallback(lambda _: came.append(round(self.clock.seconds() - began, 2)))
        return came

    def wait(self, seconds: float) -> None:
        for _ in range(round(seconds * 100)):
            self.clock.advance(0.01)


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


def test_a_request_waits_until_the_frame_changes(camera: Camera) -> None:
    camera.ask("one")
    came = camera.ask("one")
    camera.wait(3)
    assert came == []
    camera.shoot()
    camera.wait(EXAMINE)
    assert 3 < came[0] <= 3 + EXAMINE
    assert camera.frames.waiting == 0


def test_a_request_waits_until_the_frame_is_30_seconds_old(camera: Camera) -> None:
    camera.ask("one")
    came = camera.ask("one")
    camera.wait(30)
    assert came == []
    camera.wait(EXAMINE)
    assert 30 < came[0] <= 30 + EXAMINE
    assert camera.ask("one") == [0]  # and now no request waits


def test_no_wait_if_the_frame_has_changed_in_between(camera: Camera) -> None:
    camera.ask("one")
    camera.shoot()  # within the same tick: only the inode tells
    assert camera.ask("one") == [0]
    assert camera.ask("one") == []


def test_a_removed_file_ends_the_wait(camera: Camera) -> None:
    camera.ask("one")
    came = camera.ask("one")
    (camera.folder / "ann.jpg").unlink()
    camera.wait(EXAMINE + 0.01)
    assert len(came) == 1


def test_a_disconnected_viewer_does_not_wait(camera: Camera) -> None:
    camera.ask("one")
    waiting = camera.frames.next("ann.jpg", "one")
    waiting.addErrback(lambda _: None)
    waiting.cancel()
    assert camera.frames.waiting == 0
    camera.wait(1)
    assert camera.clock.getDelayedCalls() == []


def test_waiting_requests_and_remembered_viewers_are_bounded(
    camera: Camera, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webcam, "MAX_WAITING", 3)
    monkeypatch.setattr(webcam, "MAX_VIEWERS", 4)
    for viewer in "abcd":
        camera.ask(viewer)
    assert [camera.ask(viewer) for viewer in "abcd"] == [[], [], [], [0]]
    camera.ask("e")  # pushes `a` out
    camera.shoot()
    camera.wait(EXAMINE + 0.01)
    assert camera.ask("a") == []
    assert camera.ask("e") == [0]


def test_many_requests_are_answered_in_slices(camera: Camera) -> None:
    ticks = count()
    camera.frames._slices = Slices(camera.clock, lambda: next(ticks) * SLICE / 10)
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
