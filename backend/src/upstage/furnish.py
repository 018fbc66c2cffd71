"""Furnishing the house before it opens: reads content/*/stage.toml and fills the media folder.

content/demo/stage.toml     name, splash, [colours], [[avatar]], [[backdrop]], [[prop]], [[audio]]
content/demo/*.svg          pictures, go to media/
content/demo/audio/*.mp3    sounds, go to media/audio/
"""

import base64
import hashlib
import math
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from upstage.stage import Colours, Stage
from upstage.things import Audio, Avatar, Backdrop, Prop

T = TypeVar("T")

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_FILE = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}")
_COLOUR = re.compile(r"0x[0-9A-Fa-f]{6}")


class ContentError(ValueError):
    """Something in content/ is wrong; the message names the file and the key."""


class Table:
    """One TOML table that is taken apart key by key; whoever forgets a key, or adds one, is told."""

    def __init__(self, where: str, values: object) -> None:
        if not isinstance(values, dict):
            raise ContentError(f"{where}: must be a table")
        self._where = where
        self._values = dict(values)

    def error(self, key: str, problem: str) -> ContentError:
        """Return the error to raise about one key."""
        return ContentError(f"{self._where}: {key} {problem}")

    def take(self, key: str) -> object:
        """Return a value that must be there."""
        if key not in self._values:
            raise self.error(key, "is missing")
        return self._values.pop(key)

    def text(self, key: str, pattern: re.Pattern[str] | None = None) -> str:
        """Return a text that is not empty, of the given form."""
        value = self.take(key)
        if not isinstance(value, str) or not value.strip():
            raise self.error(key, "must be a text in quotes, and not an empty one")
        if pattern and not pattern.fullmatch(value):
            raise self.error(key, f"= {value!r} has the wrong form, expected {pattern.pattern}")
        return value

    def number(self, key: str) -> float:
        """Return a number that can be a place on the stage."""
        value = self.take(key)
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise self.error(key, "must be a number")
        return float(value)

    def tables(self, key: str) -> list["Table"]:
        """Return the tables of a list `[[key]]`, none if it is not there."""
        values = self._values.pop(key, [])
        if not isinstance(values, list):
            raise self.error(key, f"must be written as [[{key}]]")
        return [Table(f"{self._where}: {key} {n}", value) for n, value in enumerate(values, 1)]

    def end(self) -> None:
        """Everything has been taken: what is left is a mistake."""
        for key in self._values:
            raise self.error(key, "is not known here")


def load_stage(folder: Path) -> Stage:
    """Read one stage from its folder, whose name is its ID; raise ContentError."""
    path = folder / "stage.toml"
    if not _ID.fullmatch(folder.name):
        raise ContentError(f"{folder}: a stage's folder is named with letters, digits, _ and -")
    try:
        top = Table(str(path), tomllib.loads(path.read_text("utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ContentError(f"{path}: {error}") from None

    def file_of(table: Table, subfolder: str = "") -> str:
        name = table.text("file", _FILE)
        if not (folder / subfolder / name).is_file():
            raise table.error("file", f"= {name!r} is not in {folder / subfolder}")
        return name

    def things(key: str, build: Callable[[int, Table], T]) -> list[T]:
        found = []
        for number, table in enumerate(top.tables(key), 1):
            found.append(build(number, table))
            table.end()
        return found

    def avatar(number: int, table: Table) -> Avatar:
        name, url = table.text("name"), f"/media/{file_of(table)}"
        return Avatar(number, name, url, table.number("x"), table.number("y"))

    def backdrop(number: int, table: Table) -> Backdrop:
        return Backdrop(number, table.text("name"), f"/media/{file_of(table)}")

    def prop(number: int, table: Table) -> Prop:
        return Prop(number, table.text("name"), f"/media/{file_of(table)}")

    def audio(number: int, table: Table) -> Audio:
        name, file = table.text("name"), file_of(table, "audio")
        return Audio(number, name, file, table.text("type", re.compile("sfx|music")))

    colours = Table(f"{path}: colours", top.take("colours"))
    stage = Stage(
        id=folder.name,
        name=top.text("name"),
        splash=top.text("splash"),
        colours=Colours(
            page=colours.text("page", _COLOUR),
            tools=colours.text("tools", _COLOUR),
            backdrop_and_prop=colours.text("backdrop_and_prop", _COLOUR),
            chat=colours.text("chat", _COLOUR),
        ),
        avatars=things("avatar", avatar),
        backdrops=things("backdrop", backdrop),
        props=things("prop", prop),
        audios=things("audio", audio),
    )
    stage.backdrop_shown = 1 if stage.backdrops else 0
    colours.end()
    top.end()
    return stage


def furnish(content: Path, media: Path) -> list[Stage]:
    """Load all stages, copy their files and the measuring files to the media folder."""
    stages = [load_stage(path.parent) for path in sorted(content.glob("*/stage.toml"))]
    wanted = dict(measuring_files())
    for stage in stages:
        for url in [thing.url for thing in (*stage.pictures, *stage.audios)]:
            target = url.removeprefix("/media/")
            data = (content / stage.id / target).read_bytes()
            if wanted.setdefault(target, data) != data:
                raise ContentError(f"{content}: two stages have a different file named {target}")
    for target, data in wanted.items():
        put(media / target, data)
    return stages


def put(path: Path, data: bytes) -> None:
    """Write a file unless it has this content already; nobody ever sees a part of it.

    A file left alone keeps its date, so caches in front still have the right copy after a restart.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_file() and path.read_bytes() == data:
        return
    temporary = path.with_name(f".{path.name}.new")  # a dot in front: never served
    temporary.write_bytes(data)
    temporary.chmod(0o644)  # nginx reads the media folder too, as another user
    temporary.replace(path)


def measuring_files() -> dict[str, bytes]:
    """Return the files that load tests fetch: the sizes of the published experiments.

    The same bytes on every machine, and noise, so that nobody measures a compressor by mistake.
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
