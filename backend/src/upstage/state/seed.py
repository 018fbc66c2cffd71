"""Seeding: the stages that come with a release, and the files for measurements.

A stage is seeded once; later edits, and its removal, are permanent.

content/demo/stage.toml     name, splash, [colours], [[avatar]], [[backdrop]], [[prop]], [[audio]]
content/demo/*.svg          pictures, go to media/
content/demo/audio/*.mp3    sounds, go to media/audio/
content/load/stage.toml     name, splash, like = "demo", listed = false

content/festival/stage.toml name, splash, like = "demo", copies = 7
content/festival/*.png      the pictures of those copies, filled up with noise: see `heavy`
"""

import math
import re
import tomllib
from collections import Counter
from collections.abc import Container, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from upstage.stage.stage import Colours
from upstage.state.database import Database
from upstage.state.files import write_medium
from upstage.state.heavy import BIG, SMALL, filled, measuring_files
from upstage.state.records import (
    COLOUR,
    KINDS,
    MEDIA_FILE,
    SOUND_TYPES,
    STAGE_ID,
    Medium,
    RecordError,
    StageRecord,
    Thing,
)

UPLOADER = "upstage"  # the uploader of a release's files


class ContentError(ValueError):
    """An error in content/; the message names the file and the key."""


class TomlTable:
    """A TOML table, read key by key; missing and unknown keys are errors."""

    def __init__(self, where: str, values: object) -> None:
        if not isinstance(values, dict):
            raise ContentError(f"{where}: must be a table")
        self._where = where
        self._values = dict(values)

    def error(self, key: str, problem: str) -> ContentError:
        """Return the error to raise about one key."""
        return ContentError(f"{self._where}: {key} {problem}")

    def has(self, key: str) -> bool:
        """Return whether there is such a key."""
        return key in self._values

    def take(self, key: str) -> object:
        """Return a required value."""
        if key not in self._values:
            raise self.error(key, "is missing")
        return self._values.pop(key)

    def text(self, key: str, pattern: re.Pattern[str] | None = None) -> str:
        """Return a non-empty text that matches the pattern."""
        value = self.take(key)
        if not isinstance(value, str) or not value.strip():
            raise self.error(key, "must be a non-empty string")
        if pattern and not pattern.fullmatch(value):
            raise self.error(key, f"= {value!r} does not match {pattern.pattern}")
        return value

    def number(self, key: str) -> float:
        """Return a finite number."""
        value = self.take(key)
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise self.error(key, "must be a number")
        return float(value)

    def flag(self, key: str, default: bool) -> bool:
        """Return true or false, `default` without the key."""
        value = self._values.pop(key, default)
        if not isinstance(value, bool):
            raise self.error(key, "must be true or false")
        return value

    def tables(self, key: str) -> list["TomlTable"]:
        """Return the tables of a list `[[key]]`, an empty list without one."""
        values = self._values.pop(key, [])
        if not isinstance(values, list):
            raise self.error(key, f"must be written as [[{key}]]")
        return [TomlTable(f"{self._where}: {key} {n}", value) for n, value in enumerate(values, 1)]

    def end(self) -> None:
        """Raise ContentError if a key has not been read."""
        for key in self._values:
            raise self.error(key, "is not a known key")


@dataclass(frozen=True)
class Source:
    """The source of a file below /media: a file of the release, which `size` makes heavier."""

    path: Path
    size: int = 0  # bytes; 0: as it is

    def read(self, name: str) -> bytes:
        """Return the content of the file below /media with this name."""
        data = self.path.read_bytes()
        return filled(data, self.size, name) if self.size else data


Files = tuple[tuple[Thing, Source], ...]


@dataclass(frozen=True)
class Content:
    """A stage of a release, and each of its things with the source of its file."""

    stage: StageRecord
    files: Files


def load_stage(folder: Path) -> Content:
    """Read one stage from its folder, whose name is its ID; raise ContentError."""
    path = folder / "stage.toml"
    try:
        top = TomlTable(str(path), tomllib.loads(path.read_text("utf-8")))
        if top.has("like"):
            model = load_stage(folder.parent / top.text("like", STAGE_ID))
            colours, files = model.stage.colours, model.files
            if top.has("copies"):
                files = tuple(_heavy(folder, files, int(top.number("copies"))))
        else:
            colours = _colours(path, top)
            files = tuple((thing, Source(folder / thing.file)) for thing in _things(folder, top))
        stage = StageRecord(
            id=folder.name,
            name=top.text("name"),
            splash=top.text("splash"),
            colours=colours,
            things=tuple(thing for thing, _ in files),
            listed=top.flag("listed", True),
        )
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecordError) as error:
        raise ContentError(f"{path}: {error}") from None
    top.end()
    return Content(stage, files)


def _colours(path: Path, top: TomlTable) -> Colours:
    table = TomlTable(f"{path}: colours", top.take("colours"))
    colours = Colours(
        page=table.text("page", COLOUR),
        tools=table.text("tools", COLOUR),
        backdrop_and_prop=table.text("backdrop_and_prop", COLOUR),
        chat=table.text("chat", COLOUR),
    )
    table.end()
    return colours


def _things(folder: Path, top: TomlTable) -> Iterator[Thing]:
    for kind in KINDS:
        subfolder = "audio/" if kind == "audio" else ""
        for number, table in enumerate(top.tables(kind), 1):
            name, file = table.text("name"), table.text("file", MEDIA_FILE)
            if not (folder / subfolder / file).is_file():
                raise table.error("file", f"= {file!r} is not in {folder / subfolder}")
            thing = Thing(
                kind,
                number,
                name,
                subfolder + file,
                x=table.number("x") if kind == "avatar" else 0.0,
                y=table.number("y") if kind == "avatar" else 0.0,
                type=table.text("type", re.compile("|".join(SOUND_TYPES))) if kind == "audio" else "",
            )
            table.end()
            yield thing


def _heavy(folder: Path, files: Files, copies: int) -> Iterator[tuple[Thing, Source]]:
    """Yield the sounds, and that many copies of each picture, of which `folder` has a smaller one.

    The first copy of an avatar stands where the original does, the others are off stage.
    """
    counts = Counter(thing.kind for thing, _ in files)
    for thing, source in files:
        if thing.kind == "audio":
            yield thing, source
            continue
        name = Path(thing.file).stem
        picture = Source(folder / f"{name}.png", BIG if thing.kind == "backdrop" else SMALL)
        for n in range(copies):
            copy = replace(
                thing,
                id=thing.id + n * counts[thing.kind],
                name=f"{thing.name} {n + 1}",
                file=f"{folder.name}-{name}-{n + 1}.png",
            )
            yield (copy if n == 0 else replace(copy, x=0.0, y=0.0)), picture


def seed(content: Path, media: Path, database: Database, leave_out: Container[str] = ()) -> None:
    """Seed the stages that have not been seeded yet, except some, and write the files for measurements.

    Raise ContentError for an error in `content`, also in a stage that was seeded before.
    """
    sources: dict[str, Source] = {}
    for path in sorted(content.glob("*/stage.toml")):
        found = load_stage(path.parent)
        stage = found.stage
        if stage.id in leave_out:
            continue
        new, known = not database.was_seeded(stage.id), database.snapshot().media
        for thing, source in found.files:
            file = thing.file
            if sources.setdefault(file, source) != source:
                raise ContentError(f"{content}: two stages have a file named {file}")
            # The files come before the stage, so that a crash cannot leave it without one. A file that
            # another stage brought is only restored if it is missing, because a player may have replaced the
            # content.
            if not (media / file).exists() if file in known else new:
                write_medium(media / file, source.read(file))
        if new:
            media_of = (_medium(thing, media) for thing, _ in found.files)
            database.seed(stage, [medium for medium in media_of if medium.file not in known])
    for file, data in measuring_files().items():
        write_medium(media / file, data)


def _medium(thing: Thing, media: Path) -> Medium:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Medium(thing.file, thing.kind, thing.name, UPLOADER, now, (media / thing.file).stat().st_size)
