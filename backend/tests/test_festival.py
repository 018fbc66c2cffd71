"""The stage `festival`: its files are real, and the server makes them without waiting for them."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from forked import SRC
from running_backend import Backend, ask, join
from support.wait import wait_until
from upstage.festival.__main__ import makers
from upstage.festival.acts import ACTS
from upstage.festival.sounds import frames
from upstage.festival.stage import festival
from upstage.media.files import format_of
from upstage.settings import PACKAGE
from upstage.state.database import Database
from upstage.web.workshop_stages import MAX_THINGS

FILES = sorted(thing.file for thing in festival().things)
MAKE = (sys.executable, "-m", "upstage.festival")
MADE = 60  # seconds for a few files: they are made at the lowest priority, so any other test delays them
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(SRC), "PYTHONHASHSEED": "1"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A media folder with all files. The workers of one test run share it: the first one makes the files."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "festival-media"
    folder.mkdir(exist_ok=True)
    done = subprocess.run(
        [*MAKE, folder, *FILES], env=ENVIRONMENT, capture_output=True, text=True, check=True
    )
    assert sorted(done.stdout.split()) == FILES
    return folder


def sizes(folder: Path, pattern: str) -> list[int]:
    return [path.stat().st_size for path in folder.rglob(pattern)]


def test_the_files_are_as_heavy_as_the_articles(made: Path) -> None:
    """The article's figures: small files of about 75 kB, big ones of about 1300 kB."""
    big, small = sizes(made, "*.jpg"), sizes(made, "*.png")
    assert (len(big), len(small), len(FILES)) == (12, 36, 60)
    assert 1_150_000 < min(big) <= max(big) < 1_350_000
    assert 40_000 < min(small) <= max(small) < 95_000
    assert 65_000 < sum(small) / len(small) < 80_000
    assert 20_000_000 < sum(sizes(made, "*.*")) < 25_000_000


def test_each_file_is_what_a_player_could_upload(made: Path) -> None:
    for file in FILES:
        path = made / file
        assert format_of(path).suffix == path.suffix
        assert path.stat().st_mode & 0o777 == 0o644
    for file in FILES:
        if file.endswith(".mp3"):
            continue
        with Image.open(made / file) as picture:
            picture.load()  # raises an error if the file is damaged
            if file.endswith(".jpg"):
                assert picture.width / picture.height == 320 / 200
            else:
                assert picture.getchannel("A").getextrema() == (0, 255)


def test_a_sound_is_a_sequence_of_whole_frames(made: Path) -> None:
    """It has no tags or headers in the middle, so a browser plays it to the end."""
    for act in ACTS:
        sound = (made / act.sound_file).read_bytes()
        found = list(frames(sound))
        assert b"".join(found) == sound
        assert b"Info" not in sound
        assert b"ID3" not in sound
        assert len(found) * 1152 / 44_100 > 6  # seconds
    bell = (PACKAGE / "content" / "demo" / "audio" / "curtain-bell.mp3").read_bytes()
    assert len(list(frames(bell))) == 162  # all but the encoder's own


def test_no_two_pictures_are_alike_and_all_are_the_same_elsewhere(made: Path) -> None:
    pictures = {(made / file).read_bytes() for file in FILES if not file.endswith(".mp3")}
    assert len(pictures) == 48
    for file, make in makers(ACTS[0]):
        assert make() == (made / file).read_bytes(), file


def test_a_grain_is_no_filler(made: Path) -> None:
    """Shrunk to the size of a thumbnail, a backdrop still has many colours, so it shows something."""
    for act in ACTS:
        with Image.open(BytesIO((made / act.backdrop_file).read_bytes())) as picture:
            small = picture.reduce(40).quantize(16).getcolors() or []
            assert len(small) >= 8, act.slug


def test_the_stage_can_be_edited_in_the_workshop() -> None:
    stage = festival()
    assert len(stage.things) == 60 <= MAX_THINGS
    for kind, count in (("avatar", 24), ("backdrop", 12), ("prop", 12), ("audio", 12)):
        things = stage.of_kind(kind)
        assert [thing.id for thing in things] == list(range(1, count + 1))
        assert len({thing.name for thing in things}) == count


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Iterator[Path]:
    """A server's folder in which two media are missing, as after the first start was killed."""
    shutil.copytree(made, tmp_path / "media")
    for file in (ACTS[-1].prop_file, ACTS[-1].sound_file):
        (tmp_path / "media" / file).unlink()
    (tmp_path / "media" / f".{ACTS[-1].prop_file}.new").write_bytes(b"half")
    return tmp_path


def start(folder: Path, **env: str) -> Backend:
    return Backend(folder, UPSTAGE_FESTIVAL="on", **env)


def test_the_server_completes_the_files_and_adds_the_stage(folder: Path, made: Path) -> None:
    before = {path.name: path.stat().st_mtime_ns for path in (folder / "media").glob("festival-*")}
    server = start(folder)
    [line] = server.logged("the stage festival is being made")
    assert line["files"] == 2
    client = server.connect()
    join(client)  # the server is at work meanwhile
    wait_until(lambda: ask(server, "/stages/festival").status == 200, MADE)
    assert server.logged("the stage festival is ready")
    for file in FILES:
        assert (server.media / file).read_bytes() == (made / file).read_bytes()
    assert all((server.media / name).stat().st_mtime_ns == date for name, date in before.items())
    answer = ask(server, f"/media/{ACTS[0].backdrop_file}")
    assert (answer.status, answer.headers["content-type"]) == (200, "image/jpeg")
    assert (
        sum(b"mode=LOAD_" in frame for frame in join(server.connect(), stage=b"festival")) == 61
    )  # and the chat
    server.end()

    # Later starts restore lost files, but not those that a player has removed.
    database = Database(server.data)
    database.remove_medium(ACTS[0].prop_file)
    database.close()
    lost = (ACTS[0].prop_file, ACTS[1].prop_file)
    for file in lost:
        (server.media / file).unlink()
    server = start(folder)
    wait_until(lambda: (server.media / lost[1]).exists(), MADE)
    server.end()
    assert not (server.media / lost[0]).exists()
    server = start(folder)
    assert not server.logged("the stage festival is being made")
    server.end()

    database = Database(server.data)
    database.remove_stage("festival")
    database.close()
    server = start(folder)
    assert ask(server, "/stages/festival").status == 404
    server.end()


def test_a_stop_ends_the_process_and_publishes_nothing_incomplete(tmp_path: Path, made: Path) -> None:
    server = start(tmp_path)
    wait_until(lambda: list(server.media.glob("festival-*")), MADE)
    server.end()
    found = [path.name for path in server.media.glob("festival-*")]
    assert 0 < len(found) < 40
    assert all((server.media / name).read_bytes() == (made / name).read_bytes() for name in found)
    time.sleep(0.5)
    assert [path.name for path in server.media.glob("festival-*")] == found  # the process has ended, too
    assert Database(server.data).snapshot().stages.keys() == {"demo", "load", "rehearsal"}


def test_a_failure_is_logged_and_costs_only_this_stage(tmp_path: Path) -> None:
    broken = tmp_path / "broken" / "PIL"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise ImportError('no pictures today')")
    path = os.pathsep.join([str(broken.parent), str(SRC)])
    server = start(tmp_path, PYTHONPATH=path)
    wait_until(lambda: server.logged("the stage festival could not be made"), MADE)
    [line] = server.logged("the stage festival could not be made")
    assert "no pictures today" in str(line["errors"])
    assert ask(server, "/stages/festival").status == 404
    join(server.connect())
    server.end()


def test_a_server_without_the_festival_makes_none(tmp_path: Path) -> None:
    server = Backend(tmp_path, UPSTAGE_FESTIVAL="off")
    assert not server.logged("the stage festival is being made")
    server.end()
    assert not list(server.media.rglob("festival-*"))
