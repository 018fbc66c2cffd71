"""The simulated camera, through real FTP: its picture moves on stage, also after a restart of the server."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from io import BytesIO
from itertools import groupby
from pathlib import Path

import pytest
from PIL import Image
from twisted.internet.defer import Deferred, succeed
from twisted.internet.task import Clock

from forked import SRC, Forked
from running_backend import Backend, Editor, ask, join
from support.ports import free_ports
from support.wait import wait_until
from upstage.camera.__main__ import FRESH, main
from upstage.camera.picture import SIZE, picture
from upstage.camera.upload import EVERY, RETRY_REJECTED
from upstage.net.webcam import MAX_SIZE, MIN_INTERVAL, is_jpeg
from upstage.stage.stages import Stages
from upstage.state.accounts import Accounts
from upstage.state.database import Database
from upstage.state.in_memory import LiveState
from upstage.state.records import new_stage


def test_the_picture_moves_with_the_clock() -> None:
    noon = datetime(2026, 11, 11, 11, 11, 11, tzinfo=UTC)
    pictures = [picture(noon + timedelta(seconds=EVERY * n)) for n in range(20)]
    assert len(set(pictures)) == 20
    assert all(is_jpeg(data) and len(data) < 60_000 < MAX_SIZE for data in pictures)
    assert EVERY >= MIN_INTERVAL
    with Image.open(BytesIO(pictures[0])) as image:
        assert image.size == SIZE


class Camera:
    """A camera process and its log."""

    def __init__(self, folder: Path, ftp_port: int) -> None:
        self.log, self.stamp = folder / "camera.log", folder / "stamp"
        env = {
            "CAMERA_SERVER": f"127.0.0.1:{ftp_port}",
            "CAMERA_STAMP": str(self.stamp),
            "LOADTEST_ACCOUNT_FILE": str(folder / "account"),
        }
        self.env = {**os.environ, "PYTHONPATH": str(SRC), **env}
        self.process = Forked(("-m", "upstage.camera"), self.env, self.log)

    def lines(self) -> list[str]:
        return self.log.read_text().splitlines()

    def is_healthy(self) -> bool:
        command = [sys.executable, "-m", "upstage.camera", "check"]
        return subprocess.run(command, env=self.env).returncode == 0


@pytest.fixture
def ftp_port() -> int:
    [port] = free_ports(1)
    return port


@pytest.fixture
def a_camera(tmp_path: Path, ftp_port: int) -> Iterator[Camera]:
    camera = Camera(tmp_path, ftp_port)
    yield camera
    camera.process.terminate()
    camera.process.wait(5)


def start(folder: Path, ftp_port: int, **env: str) -> Backend:
    return Backend(
        folder,
        UPSTAGE_FTP_ENDPOINT=f"tcp:{ftp_port}:interface=127.0.0.1",
        UPSTAGE_FTP_PASSIVE="20000-29999",
        UPSTAGE_LOAD_ACCOUNT_FILE=str(folder / "account"),
        **env,
    )


def frame(server: Backend) -> bytes:
    answer = ask(server, "/media/video/load.jpg")
    return answer.body if answer.status == 200 else b""


def cameras(server: Backend, stage: bytes) -> int:
    """How many avatars of this stage are cameras."""
    return sum(b"medium=video" in frame for frame in join(server.connect(), stage=stage))


def test_the_camera_is_on_stage_and_comes_back(tmp_path: Path, ftp_port: int, a_camera: Camera) -> None:
    wait_until(a_camera.lines)  # it was started first
    assert a_camera.lines()[0].startswith("no picture was uploaded: ")
    assert not a_camera.is_healthy()
    server = start(tmp_path, ftp_port)
    audience = server.connect()
    join(audience)
    audience.frames_until(b"mode=RELOAD")  # the camera's avatar is put on stage
    first = frame(server)
    assert is_jpeg(first)
    wait_until(lambda: frame(server) not in (b"", first))
    assert a_camera.lines()[-1] == f"pictures are uploaded to 127.0.0.1:{ftp_port}"
    assert a_camera.is_healthy()
    stages = (b"demo", b"load", b"rehearsal")
    assert [cameras(server, stage) for stage in stages] == [1, 1, 0]
    audience.send_frames(b"stage_ID=demo&mode=JOIN", b"mode=LOADED")
    placed = audience.frames_until(b"mode=CONFIRM_LOADED")
    assert any(b"X=274.0" in each and b"mode=AV_POS" in each for each in placed)

    server.end()
    last = server.media.joinpath("video", "load.jpg").read_bytes()
    wait_until(lambda: a_camera.lines()[-1].startswith("no picture was uploaded: "))
    server = start(tmp_path, ftp_port)
    wait_until(lambda: frame(server) not in (b"", last))
    # The first picture of this run: the avatar is already there.
    assert [cameras(server, stage) for stage in stages] == [1, 1, 0]
    changes = [key for key, _ in groupby(line.split()[0] for line in a_camera.lines())]
    assert changes == ["no", "pictures", "no", "pictures"]
    assert len(a_camera.lines()) <= 6  # a line for each change of state or reason, not for each attempt
    server.end()


def test_an_avatar_that_was_taken_off_stays_off(tmp_path: Path, ftp_port: int, a_camera: Camera) -> None:
    server = start(tmp_path, ftp_port, UPSTAGE_ADMIN_PASSWORD="open sesame")
    wait_until(lambda: cameras(server, b"demo"))
    editor = Editor(server)
    assert editor.post("/admin/workshop/stages/demo", action="take", kind="avatar", id="5").status == 302
    server.end()
    server = start(tmp_path, ftp_port)
    before = frame(server)
    wait_until(lambda: frame(server) not in (b"", before))
    assert cameras(server, b"demo") == 0
    assert cameras(server, b"load") == 1
    server.end()


def test_a_rejected_password_is_not_repeated_at_once(tmp_path: Path, ftp_port: int, a_camera: Camera) -> None:
    """Ten wrong passwords a minute would lock the account's players out."""
    (tmp_path / "account").write_text("load:wrong\n")
    server = Backend(tmp_path, UPSTAGE_FTP_ENDPOINT=f"tcp:{ftp_port}:interface=127.0.0.1")
    wait_until(lambda: "530" in a_camera.log.read_text())
    assert 60 / RETRY_REJECTED < 10
    assert not a_camera.is_healthy()
    server.end()


def test_a_camera_that_has_stopped_is_not_healthy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stamp = tmp_path / "stamp"
    monkeypatch.setenv("CAMERA_STAMP", str(stamp))
    stamp.touch()
    assert main(["check"]) == 0
    old = stamp.stat().st_mtime - FRESH - 1
    os.utime(stamp, (old, old))
    assert main(["check"]) == 1


class SlowDisk:
    """A store that does its work when it is told to."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []

    def run(self, work: Callable[..., object], *args: object) -> Deferred[object]:
        done: Deferred[object] = Deferred()
        self.waiting.append(lambda: done.callback(work(*args)))
        return done

    def work(self) -> None:
        while self.waiting:
            self.waiting.pop(0)()


def test_pictures_that_arrive_while_the_first_is_added_add_no_second_avatar(tmp_path: Path) -> None:
    database, disk, stages = Database(tmp_path), SlowDisk(), Stages()
    database.add_stage(new_stage("demo", "Demo"))
    accounts = Accounts("", lambda hash, password: succeed(False))
    state = LiveState(database, disk, disk, stages, accounts, Clock())  # type: ignore[arg-type]
    for _ in range(3):
        state.add_webcam("load.jpg", "load", 100)
    state.add_webcam("ann.jpg", "ann", 100)  # another player's is put on no stage
    disk.work()
    state.add_webcam("load.jpg", "load", 100)
    disk.work()
    [avatar] = stages.by_id["demo"].avatars
    assert (avatar.url, avatar.medium) == ("/media/video/load.jpg", "video")
    assert state.now.media.keys() == {"video/load.jpg", "video/ann.jpg"}
