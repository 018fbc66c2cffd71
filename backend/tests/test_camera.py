"""The simulated camera, through real FTP: its picture moves on stage, also after a restart of the server."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path

import pytest
from twisted.internet.defer import succeed
from twisted.internet.task import Clock

from backend.tests.fake_reactor import Worker
from backend.tests.forked import SRC, Forked
from backend.tests.running_backend import Backend, ask, join
from tests.support.ports import free_ports
from tests.support.wait import wait_until
from upstage.camera.__main__ import FRESH, main
from upstage.camera.picture import picture
from upstage.camera.upload import EVERY, RETRY_REJECTED
from upstage.net.pictures import MAX_SIZE, MIN_INTERVAL, is_jpeg
from upstage.stage.stages import Stages
from upstage.state.accounts import Accounts
from upstage.state.database import Database
from upstage.state.in_memory import LiveState
from upstage.state.records import new_stage
from upstage.state.sessions import Sessions


def test_the_picture_moves_with_the_clock() -> None:
    noon = datetime(2026, 11, 11, 11, 11, 11, tzinfo=UTC)
    pictures = [picture(noon + timedelta(seconds=EVERY * n)) for n in range(20)]
    assert len(set(pictures)) == 20
    assert all(is_jpeg(data) and len(data) < 60_000 < MAX_SIZE for data in pictures)
    assert EVERY >= MIN_INTERVAL


class Camera:
    """A server's folder, and a camera that was started before the server."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.log = folder, folder / "camera.log"
        [self._port] = free_ports(1)
        env = {
            "CAMERA_SERVER": f"127.0.0.1:{self._port}",
            "CAMERA_STAMP": str(folder / "stamp"),
            "LOADTEST_ACCOUNT_FILE": str(folder / "account"),
        }
        command = ("-m", "upstage.camera")
        self.process = Forked(command, {**os.environ, "PYTHONPATH": str(SRC), **env}, self.log)
        wait_until(self.lines)

    def lines(self) -> list[str]:
        return self.log.read_text().splitlines()

    def start(self, **env: str) -> Backend:
        endpoint = f"tcp:{self._port}:interface=127.0.0.1"
        ports = {"UPSTAGE_FTP_ENDPOINT": endpoint, "UPSTAGE_FTP_PASSIVE": "20000-29999"}
        return Backend(self.folder, **ports, **env)


@pytest.fixture
def camera(tmp_path: Path) -> Iterator[Camera]:
    camera = Camera(tmp_path)
    yield camera
    camera.process.terminate()
    camera.process.wait(60)


def frame(server: Backend) -> bytes:
    response = ask(server, "/media/video/load.jpg")
    return response.body if response.status == 200 else b""


def cameras(server: Backend, stage: bytes) -> int:
    """Return how many avatars of this stage are cameras."""
    return sum(b"medium=video" in frame for frame in join(server.connect(), stage=stage))


def test_the_camera_is_on_stage_and_comes_back(tmp_path: Path, camera: Camera) -> None:
    account = {"UPSTAGE_LOAD_ACCOUNT_FILE": str(tmp_path / "account")}
    server = camera.start(**account)
    audience = server.on_stage()
    audience.frames_until(b"mode=RELOAD")  # the camera's avatar is put on stage
    first = frame(server)
    assert is_jpeg(first)
    wait_until(lambda: frame(server) not in (b"", first))
    stages = (b"demo", b"load", b"rehearsal")
    assert [cameras(server, stage) for stage in stages] == [1, 1, 0]
    audience.send_frames(b"stage_ID=demo&mode=JOIN", b"mode=LOADED")
    placed = audience.frames_until(b"mode=CONFIRM_LOADED")
    assert any(b"X=274.0" in each and b"mode=AV_POS" in each for each in placed)

    server.end()
    last = server.media.joinpath("video", "load.jpg").read_bytes()
    wait_until(lambda: camera.lines()[-1].startswith("no picture was uploaded: "))
    server = camera.start(**account)
    wait_until(lambda: frame(server) not in (b"", last))
    assert [cameras(server, stage) for stage in stages] == [1, 1, 0]  # the avatar is already there
    changes = [key for key, _ in groupby(line.split()[0] for line in camera.lines())]
    assert changes == ["no", "pictures", "no", "pictures"]
    assert len(camera.lines()) <= 6  # a line for each change of state or reason, not for each attempt
    password = (tmp_path / "account").read_text().strip().partition(":")[2]
    assert password not in server.log.read_text()
    server.end()


def test_a_rejected_password_is_not_repeated_at_once(tmp_path: Path, camera: Camera) -> None:
    """Ten wrong passwords a minute would lock the account's players out."""
    (tmp_path / "account").write_text("load:wrong\n")
    server = camera.start()
    wait_until(lambda: "530" in camera.log.read_text())
    assert 60 / RETRY_REJECTED < 10
    server.end()


def test_a_camera_that_has_stopped_is_not_healthy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stamp = tmp_path / "stamp"
    monkeypatch.setenv("CAMERA_STAMP", str(stamp))
    assert main(["check"]) == 1
    stamp.touch()
    assert main(["check"]) == 0
    old = stamp.stat().st_mtime - FRESH - 1
    os.utime(stamp, (old, old))
    assert main(["check"]) == 1


def test_the_first_picture_adds_an_avatar_which_stays_off_when_it_was_taken_off(tmp_path: Path) -> None:
    database, disk, stages = Database(tmp_path), Worker(), Stages()
    database.add_stage(new_stage("demo", "Demo"))
    sessions = Sessions(database, disk)  # type: ignore[arg-type]
    accounts = Accounts("", lambda hash, password: succeed(False), sessions)
    state = LiveState(database, disk, disk, stages, accounts, Clock())  # type: ignore[arg-type]

    def arrive(*players: str) -> None:
        for player in players:
            state.add_webcam(f"{player}.jpg", player, 100)
        while disk.waiting:
            disk.turn()

    arrive("load", "load", "load", "ann")  # the first is being added; ann's goes on no stage
    arrive("load")
    [avatar] = stages.by_id["demo"].avatars
    assert (avatar.url, avatar.medium) == ("/media/video/load.jpg", "video")
    assert state.now.media.keys() == {"video/load.jpg", "video/ann.jpg"}
    database.take_thing("demo", "avatar", 1)
    arrive("load")
    assert database.snapshot().stages["demo"].things == ()
