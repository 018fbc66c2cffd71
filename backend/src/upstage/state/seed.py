"""Seeding: the stages that come with a release, and the files for measurements.

A stage is seeded once; later edits, and its removal, are permanent.

content/demo/stage.toml     name, splash, [colours], [[avatar]], [[backdrop]], [[prop]], [[audio]]
content/demo/*.svg          pictures, go to media/
content/demo/audio/*.mp3    sounds, go to media/audio/
content/load/stage.toml     name, splash, like = "demo", listed = false

The stage `festival` is made by a program: see the package `festival`.
"""

import base64
import hashlib
import math
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from upstage.stage.stage import Colours
from upstage.state.database import Database
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
class Content:
    """A stage of a release, and the folder with its files."""

    stage: StageRecord
    folder: Path


def load_stage(folder: Path) -> Content:
    """Read one stage from its folder, whose name is its ID; raise ContentError."""
    path = folder / "stage.toml"
    try:
        top = TomlTable(str(path), tomllib.loads(path.read_text("utf-8")))
        if top.has("like"):
            model = load_stage(folder.parent / top.text("like", STAGE_ID))
            source, colours, things = model.folder, model.stage.colours, model.stage.things
        else:
            source, colours, things = folder, _colours(path, top), tuple(_things(folder, top))
        stage = StageRecord(
            id=folder.name,
            name=top.text("name"),
            splash=top.text("splash"),
            colours=colours,
            things=things,
            listed=top.flag("listed", True),
        )
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecordError) as error:
        raise ContentError(f"{path}: {error}") from None
    top.end()
    return Content(stage, source)


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


def seed(content: Path, media: Path, database: Database) -> None:
    """Seed the stages that have not been seeded yet, and write the files for measurements.

    Raise ContentError for an error in `content`, also in a stage that was seeded before.
    """
    origins: dict[str, bytes] = {}
    for path in sorted(content.glob("*/stage.toml")):
        found = load_stage(path.parent)
        stage, folder = found.stage, found.folder
        new, known = not database.was_seeded(stage.id), database.snapshot().media
        for file in sorted({thing.file for thing in stage.things}):
            data = (folder / file).read_bytes()
            if origins.setdefault(file, data) != data:
                raise ContentError(f"{content}: two stages have different files named {file}")
            # Before the stage is added, so that a crash cannot leave it without a file. A file that another
            # stage brought is only restored if it is missing, because a player may have replaced the content.
            if not (media / file).exists() if file in known else new:
                put(media / file, data)
        if new:
            database.seed(stage, [medium for medium in media_of(stage, folder) if medium.file not in known])
    for target, data in measuring_files().items():
        put(media / target, data)


def media_of(stage: StageRecord, folder: Path) -> list[Medium]:
    """Return the media of a stage whose files are in `folder`."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return [
        Medium(thing.file, thing.kind, thing.name, UPLOADER, now, (folder / thing.file).stat().st_size)
        for thing in stage.things
    ]


def put(path: Path, data: bytes) -> None:
    """Write a file atomically, unless it already has this content.

    An unchanged file keeps its date, so the caches' copies stay valid after a restart.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_file() and path.read_bytes() == data:
        return
    temporary = path.with_name(f".{path.name}.new")  # names with a leading dot are never served
    temporary.write_bytes(data)
    temporary.chmod(0o644)  # nginx reads the media folder too, as another user
    temporary.replace(path)


def measuring_files() -> dict[str, bytes]:
    """Return the files that load tests fetch, in the sizes of the published experiments.

    They are noise, the same on every machine, so that a test cannot measure compression by mistake.
    """
    return {
        "bench/tiny.html": _page(5_000),
        "bench/small.swf": _swf(75_000),
        "bench/big.swf": _swf(1_300_000),
    }


def _noise(size: int) -> bytes:
    return hashlib.shake_256(f"proscenium {size}".encode()).digest(size)


def _swf(size: int) -> bytes:
    """A Flash file's header (uncompressed, version 8, length), then noise."""
    return b"FWS\x08" + size.to_bytes(4, "little") + _noise(size - 8)


def _page(size: int) -> bytes:
    head = b"<!doctype html>\n<title>A small page to measure with</title>\n<p>"
    return head + base64.b64encode(_noise(size))[: size - len(head)]
