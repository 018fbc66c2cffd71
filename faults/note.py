"""The note of the last fault: `make watch` reads it, and nginx serves it to pages."""

import json
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from .fault import bash


@dataclass(frozen=True)
class Note:
    """A fault that was made; times in seconds since 1970."""

    name: str
    title: str
    users: str  # what they see
    broken: float
    mended: float = 0.0  # 0: not yet
    drawn: str = ""  # its real name, if the learner is to find it

    def ended(self) -> "Note":
        """The same, mended now."""
        return replace(self, mended=time.time())


def read_note(file: Path) -> Note | None:
    """The note in a file, None without one."""
    return Note(**json.loads(file.read_text())) if file.exists() else None


def write_note(file: Path, note: Note) -> None:
    """Write a note to a file, and to nginx if that runs (nginx/sites/fault.conf)."""
    new = file.with_suffix(".new")
    new.write_text(json.dumps(asdict(note)))
    new.rename(file)
    broken = file.with_name("broken")  # its title, for `make status`
    if note.mended:
        broken.unlink(missing_ok=True)
    else:
        broken.write_text(f"{note.title}\n")
    bash("publish_note || true", json.dumps(asdict(replace(note, drawn=""))))
