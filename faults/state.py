"""The state of the last fault: `make watch` reads it, and nginx serves it to pages."""

import json
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from .fault import bash


@dataclass(frozen=True)
class State:
    """A fault that was made; times are in seconds since 1970."""

    name: str
    title: str
    users: str  # what users see during the fault
    broken: float
    mended: float = 0.0  # when it was mended; 0: not yet
    random: str = ""  # the fault's name, if it was chosen at random for a learner to find

    def ended(self) -> "State":
        """Return this state, mended now."""
        return replace(self, mended=time.time())


def read_state(file: Path) -> State | None:
    """Return the state in a file; None if there is no file."""
    if not file.exists():
        return None
    kept = json.loads(file.read_text())
    if "drawn" in kept:  # the name of `random` in an earlier release
        kept["random"] = kept.pop("drawn")
    return State(**kept)


def write_state(file: Path, state: State) -> None:
    """Write a state to a file, and to nginx if it is running (nginx/sites/fault.conf)."""
    new = file.with_suffix(".new")
    new.write_text(json.dumps(asdict(state)))
    new.rename(file)
    broken = file.with_name("broken")  # the fault's title, for `make status`
    if state.mended:
        broken.unlink(missing_ok=True)
    else:
        broken.write_text(f"{state.title}\n")
    bash("publish_state || true", json.dumps(asdict(replace(state, random=""))))
