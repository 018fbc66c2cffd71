"""Seeding: adds the stages that come with a release, and the files for measurements.

A stage is seeded once; later edits, or its removal, are permanent.

content/demo/stage.toml     name, splash, [colours], [[avatar]], [[backdrop]], [[prop]], [[audio]]
content/demo/*.svg          pictures, copied to media/
content/demo/audio/*.mp3    sounds, copied to media/audio/
content/load/stage.toml     name, splash, like = "demo", listed = false

content/festival/stage.toml name, splash, like = "demo", copies = 7
content/festival/*.png      the pictures of those copies, enlarged with noise: see `heavy`
"""

import tomllib
from collections import Counter
from collections.abc import Container, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from upstage.stage.stage import Colours
from upstage.state.database import Database
from upstage.state.files import write_medium
from upstage.state.heavy import BIG, SMALL, filled, measuring_files
from upstage.state.records import KINDS, Medium, RecordError, StageRecord, Thing

UPLOADER = "upstage"  # the uploader of a release's files


class ContentError(ValueError):
    """An error in content/; the message names the file and the key."""


@dataclass(frozen=True)
class Source:
    """The source of a file below /media: a file of the release, which `size` enlarges."""

    path: Path
    size: int = 0  # bytes; 0: unchanged

    def read(self, name: str) -> bytes:
        """Return the content of the file that has this name below /media."""
        data = self.path.read_bytes()
        return filled(data, self.size, name) if self.size else data


Files = tuple[tuple[Thing, Source], ...]


@dataclass(frozen=True)
class Content:
    """A stage of a release, and each thing on it with the source of its file."""

    stage: StageRecord
    files: Files


def load_stage(folder: Path) -> Content:
    """Read one stage from its folder, whose name is its ID; raise ContentError."""
    path = folder / "stage.toml"
    try:
        table = tomllib.loads(path.read_text("utf-8"))
        if like := table.pop("like", ""):
            model = load_stage(folder.parent / like)
            colours, files = model.stage.colours, model.files
            if copies := table.pop("copies", 0):
                files = tuple(_heavy(folder, files, copies))
        else:
            colours = Colours(**table.pop("colours", {}))
            things = [
                _thing(folder, kind, number, **thing)
                for kind in KINDS
                for number, thing in enumerate(table.pop(kind, []), 1)
            ]
            files = tuple((thing, Source(folder / thing.file)) for thing in things)
        stage = StageRecord(folder.name, colours=colours, things=tuple(thing for thing, _ in files), **table)
    except (OSError, ValueError, TypeError, AttributeError) as error:  # missing, unknown or invalid keys
        raise ContentError(f"{path}: {error}") from None
    return Content(stage, files)


def _thing(folder: Path, kind: str, number: int, file: str, **fields: Any) -> Thing:
    path = f"audio/{file}" if kind == "audio" else file
    if not (folder / path).is_file():
        raise RecordError(f"{path} is not in {folder}")
    return Thing(kind, number, file=path, **fields)


def _heavy(folder: Path, files: Files, copies: int) -> Iterator[tuple[Thing, Source]]:
    """Yield the sounds, and `copies` copies of each picture in `folder`, each enlarged to a given size.

    The first copy of an avatar has the place of the original; the others are off stage.
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
    """Add the stages that have not been seeded yet, except some, and write the files for measurements.

    Raise ContentError for an error in `content`, even in a stage that was seeded before.
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
            # The files come before the stage, so that a crash cannot leave a stage without one of them. A
            # file that another stage has brought is only restored if it is missing, because a player may have
            # replaced its content.
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
