"""Webcam pictures: write access, format and interval."""

from pathlib import Path
from typing import cast

import pytest

from running_webcam_listener import JPEG
from upstage.net import webcam
from upstage.net.webcam import Pictures, Rejected, Session, Sessions
from upstage.stage.players import Player


def test_a_player_may_write_only_its_own_picture(tmp_path: Path) -> None:
    now = 0.0
    pictures = Pictures(tmp_path, lambda: now)
    ann = Player("ann", can_act=True)
    pictures.allow(ann, "ann.jpg")
    for name in ("bob.jpg", "ann.png", "../ann.jpg", "ann.jpg\0", "Ann.jpg", ""):
        with pytest.raises(Rejected):
            pictures.allow(ann, name)
    chief = Player("chief", can_act=True, can_su=True)
    pictures.allow(chief, "bob.jpg")
    for name in ("../bob.jpg", ".bob.jpg", "bob/x.jpg", "bob.svg", "b" * 41 + ".jpg", ".jpg"):
        with pytest.raises(Rejected):
            pictures.allow(chief, name)


def test_pictures_are_complete_jpegs_at_an_interval(tmp_path: Path) -> None:
    now = 0.0
    told: list[tuple[str, str, int]] = []
    pictures = Pictures(tmp_path, lambda: now, lambda *picture: told.append(picture))
    ann = Player("ann", can_act=True)
    for data in (b"", JPEG[:-1], b"GIF89a" + JPEG, b"\xff\xd8\xff"):
        with pytest.raises(Rejected):
            pictures.take(ann, "ann.jpg", data)
    assert list(tmp_path.iterdir()) == []
    pictures.allow(ann, "ann.jpg")
    pictures.take(ann, "ann.jpg", JPEG + b"\0\0")
    assert (tmp_path / "ann.jpg").read_bytes() == JPEG + b"\0\0"
    assert told == [("ann.jpg", "ann", len(JPEG) + 2)]
    with pytest.raises(Rejected):
        pictures.allow(ann, "ann.jpg")
    now += webcam.MIN_INTERVAL
    pictures.allow(ann, "ann.jpg")


class Camera:
    """A session that has signed in."""

    place: str | None = None

    def __init__(self, sessions: Sessions) -> None:
        self.sessions = sessions

    def give_up(self) -> None:
        self.sessions.leave(cast(Session, self))


def test_the_only_session_of_a_player_may_give_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webcam, "MAX_OF_PLAYER", 1)
    sessions = Sessions()
    cameras = [cast(Session, Camera(sessions)) for _ in range(2)]
    for camera in cameras:
        sessions.enter(camera, "ann")
    assert [camera.place for camera in cameras] == [None, "ann"]
    sessions.leave(cameras[1])
    assert not sessions._of
