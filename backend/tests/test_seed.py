"""seed: errors in content/ are reported; the files for measurements are the same everywhere."""

import gzip
import hashlib
import os
import shutil
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from upstage.media import svg
from upstage.media.files import format_of
from upstage.settings import PACKAGE
from upstage.state.database import Database
from upstage.state.files import write_medium
from upstage.state.heavy import measuring_files
from upstage.state.records import Thing
from upstage.state.seed import ContentError, load_stage, seed

STAGE_TOML = """
name = "Demo Stage"
splash = "Welcome & enjoy"
[colours]
page = "0x112233"
tools = "0x445566"
backdrop_and_prop = "0x778899"
chat = "0xAABBCC"
[[avatar]]
name = "Ann"
file = "ann.svg"
x = 60.0
y = 120
[[backdrop]]
name = "Wood"
file = "wood.svg"
[[prop]]
name = "Hat"
file = "hat.svg"
[[audio]]
name = "Bell"
file = "bell.mp3"
type = "sfx"
"""


@pytest.fixture
def content(tmp_path: Path) -> Path:
    demo = tmp_path / "content" / "demo"
    (demo / "audio").mkdir(parents=True)
    (demo / "stage.toml").write_text(STAGE_TOML)
    for name in ("ann", "wood", "hat"):
        (demo / f"{name}.svg").write_text(f"<svg xmlns='http://www.w3.org/2000/svg'><!-- {name} --></svg>")
    (demo / "audio" / "bell.mp3").write_bytes(b"ID3 ding")
    return demo.parent


def test_a_stage_is_read_as_written(content: Path) -> None:
    loaded = load_stage(content / "demo")
    stage = loaded.stage
    assert [source.path for _, source in loaded.files] == [
        content / "demo" / file for file in ("ann.svg", "wood.svg", "hat.svg", "audio/bell.mp3")
    ]
    assert stage.listed
    assert (stage.id, stage.name, stage.splash) == ("demo", "Demo Stage", "Welcome & enjoy")
    assert (stage.colours.page, stage.colours.chat) == ("0x112233", "0xAABBCC")
    assert stage.things == (
        Thing("avatar", 1, "Ann", "ann.svg", x=60.0, y=120.0),
        Thing("backdrop", 1, "Wood", "wood.svg"),
        Thing("prop", 1, "Hat", "hat.svg"),
        Thing("audio", 1, "Bell", "audio/bell.mp3", type="sfx"),
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "Demo Stage"', "", "stage.toml: .*missing .*'name'"),
        ('name = "Demo Stage"', "name = 3", "stage.toml: 'int' object"),
        ('"0x112233"', '"red"', "stage.toml: 'red' is not a colour"),
        ('tools = "0x445566"', "", "stage.toml: .*missing .*'tools'"),
        ("x = 60.0", 'x = "left"', "stage.toml: '<=' not supported"),
        ("x = 60.0", "x = nan", "stage.toml: A position on the stage must lie"),
        ("x = 60.0", "x = 60.0\nz = 1", "stage.toml: .*unexpected keyword argument 'z'"),
        ('"hat.svg"', '"cap.svg"', "stage.toml: cap.svg is not in "),
        ('type = "sfx"', 'type = "noise"', "stage.toml: The type of a sound must be"),
        ("[[prop]]", "[prop]", "stage.toml: "),
        ("[colours]", "[colours", "stage.toml: .*line 4"),
        ('splash = "Welcome', 'spalsh = "x"\nsplash = "Welcome', "stage.toml: .*argument 'spalsh'"),
        ('splash = "Welcome', 'like = "x"\nsplash = "Welcome', "x/stage.toml: .*No such file"),
    ],
)
def test_errors_in_the_content_are_named(content: Path, old: str, new: str, message: str) -> None:
    path = content / "demo" / "stage.toml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(ContentError, match=message):
        load_stage(content / "demo")


@pytest.fixture
def media(tmp_path: Path) -> Path:
    return tmp_path / "media"


def test_media_are_copied_once_and_readable_by_all(content: Path, media: Path, database: Database) -> None:
    old = os.umask(0o027)
    try:
        seed(content, media, database)
    finally:
        os.umask(old)
    assert (media / "ann.svg").read_bytes() == (content / "demo" / "ann.svg").read_bytes()
    assert (media / "audio" / "bell.mp3").stat().st_mode & 0o777 == 0o644
    assert not [path for path in media.rglob("*") if path.name.startswith(".")]
    before = {path: path.stat() for path in media.rglob("*.*")}
    seed(content, media, database)  # an unchanged file keeps its date, and so its ETag
    assert all(path.stat().st_mtime_ns == old.st_mtime_ns for path, old in before.items())


def test_two_stages_with_one_file_name_are_an_error(content: Path, media: Path, database: Database) -> None:
    shutil.copytree(content / "demo", content / "other")
    with pytest.raises(ContentError, match=r"two stages have a file named ann\.svg"):
        seed(content, media, database)


LIKE = 'name = "Load"\nsplash = "Like the other"\nlike = "demo"\nlisted = false\n'


def add_like(content: Path) -> Path:
    """Add the stage `load`, which is like the demo; return its file."""
    file = content / "load" / "stage.toml"
    file.parent.mkdir()
    file.write_text(LIKE)
    return file


def test_a_stage_like_another_shares_its_files(content: Path, media: Path, database: Database) -> None:
    file = add_like(content)
    seed(content, media, database)
    demo, load = database.snapshot().stages.values()
    assert load == replace(demo, id="load", name="Load", splash="Like the other", listed=False)
    assert demo.listed
    file.write_text(f"{LIKE}[colours]\n")
    with pytest.raises(ContentError, match=r"stage\.toml: .*argument 'colours'"):
        load_stage(content / "load")


def test_a_later_release_adds_its_stages_and_leaves_edited_ones_alone(
    content: Path, media: Path, database: Database
) -> None:
    """One file of the older stage was replaced, one lost, one deleted; the new stage needs all three."""
    seed(content, media, database)
    database.save_stage(replace(database.snapshot().stages["demo"], name="Ours"))
    (media / "ann.svg").write_text("another Ann")
    database.put_medium(replace(database.snapshot().media["ann.svg"], uploader="mia"))
    (media / "wood.svg").unlink()
    (media / "hat.svg").unlink()
    database.remove_medium("hat.svg")
    for later in (False, True):
        if later:
            add_like(content)
        seed(content, media, database)
        snapshot = database.snapshot()
        assert (media / "ann.svg").read_text() == "another Ann"
        assert snapshot.media["ann.svg"].uploader == "mia"
        assert (media / "wood.svg").exists()
        assert (media / "hat.svg").exists() == later
        assert (snapshot.stages["demo"].name, snapshot.stages["demo"].of_kind("prop")) == ("Ours", [])
    assert len(snapshot.stages["load"].of_kind("prop")) == 1
    for id in ("demo", "load"):
        database.remove_stage(id)
    seed(content, media, database)
    assert database.snapshot().stages == {}


def test_measuring_files_are_the_same_on_every_machine() -> None:
    files = measuring_files()
    assert {name: (len(data), hashlib.sha256(data).hexdigest()[:16]) for name, data in files.items()} == {
        "bench/tiny.html": (5_000, "ecf596d8ec67f8aa"),
        "bench/small.swf": (75_000, "4b28c02d131be36f"),
        "bench/big.swf": (1_300_000, "f9e5b33e4b0af8c5"),
    }


def pixels(picture: bytes) -> tuple[tuple[int, int], bytes]:
    with Image.open(BytesIO(picture)) as image:
        return image.size, image.convert("RGBA").tobytes()


def test_the_festival_has_the_demos_things_seven_times(tmp_path: Path, database: Database) -> None:
    seed(PACKAGE / "content", tmp_path, database)
    demo, festival = (database.snapshot().stages[id] for id in ("demo", "festival"))
    assert festival.of_kind("audio") == demo.of_kind("audio")
    for kind in ("avatar", "backdrop", "prop"):
        things, originals = festival.of_kind(kind), demo.of_kind(kind)
        assert [thing.id for thing in things] == list(range(1, 7 * len(originals) + 1))
        assert [thing.name for thing in things] == [
            f"{each.name} {n}" for n in range(1, 8) for each in originals
        ]
        assert [(each.x, each.y) for each in things if each.x] == [
            (each.x, each.y) for each in originals if each.x
        ]


def test_the_festivals_pictures_are_as_heavy_as_the_articles(tmp_path: Path, database: Database) -> None:
    """Each picture looks like its drawing, and is a separate file, the same on every machine."""
    seed(PACKAGE / "content", tmp_path, database)
    media = database.snapshot().media
    found = {path.name: path.read_bytes() for path in tmp_path.glob("festival-*")}
    assert len(set(found.values())) == 56
    for name, data in found.items():
        assert format_of(tmp_path / name).suffix == ".png"
        assert len(data) == media[name].size == (1_300_000 if media[name].kind == "backdrop" else 75_000)
        assert len(gzip.compress(data)) > 0.98 * len(data)
        drawing = name.removeprefix("festival-")[: -len("-1.png")]
        assert pixels(data) == pixels((PACKAGE / "content" / "festival" / f"{drawing}.png").read_bytes())
    assert hashlib.sha256(found["festival-fox-7.png"]).hexdigest()[:16] == "5b65934c9c48062d"


def test_a_stage_can_be_left_out(tmp_path: Path, database: Database) -> None:
    seed(PACKAGE / "content", tmp_path, database, leave_out=("festival",))
    assert "festival" not in database.snapshot().stages
    assert not list(tmp_path.glob("festival-*"))


def test_the_shipped_content_is_valid(tmp_path: Path, database: Database) -> None:
    seed(PACKAGE / "content", tmp_path, database)
    stages = database.snapshot().stages
    demo = stages["demo"]
    assert stages["rehearsal"].things == ()
    assert stages["load"].things == demo.things
    assert [id for id, stage in stages.items() if not stage.listed] == ["load"]
    for kind, least in (("avatar", 3), ("backdrop", 2), ("prop", 2), ("audio", 2)):
        assert len(demo.of_kind(kind)) >= least
    assert all(0 < avatar.x < 225 and 0 < avatar.y < 189 for avatar in demo.of_kind("avatar"))


@pytest.mark.parametrize("drawing", sorted((PACKAGE / "content").rglob("*.svg")), ids=lambda path: path.name)
def test_the_shipped_drawings_pass_the_upload_check(drawing: Path) -> None:
    svg.check(drawing)


def test_a_file_that_replaces_another_has_a_later_second(tmp_path: Path) -> None:
    """Tags and dates count seconds: without this, two files of one size and second would seem the same."""
    path = tmp_path / "a.svg"
    dates = []
    for content in (b"one", b"two", b"six"):
        write_medium(path, content)
        dates.append(int(path.stat().st_mtime))
    assert dates == sorted(set(dates))
    write_medium(path, b"six")
    assert int(path.stat().st_mtime) == dates[-1]
