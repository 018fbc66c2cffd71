"""The stored record of an attempt at a lesson."""

import json
import secrets
import time
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from .errors import StartAgain


def new_word() -> str:
    """Return a word that no URL has contained so far."""
    return "k" + secrets.token_hex(4)


@dataclass
class Result:
    """The result of a finished attempt."""

    began: float  # seconds since 1970
    done: float
    answers: int  # the number of answers that the learner gave to the question


@dataclass
class Attempt:
    """The last attempt at one lesson."""

    word: str  # a part of every URL that the learner requests, and of no other
    began: float  # seconds since 1970
    started: dict[str, str]  # when each service was last started
    answers: int = 0  # the number of answers that the learner has given to the question
    attempts: int = 1  # the number of attempts, including this one
    done: float = 0  # seconds since 1970
    best: Result | None = None  # the best result of earlier attempts
    said: str = ""  # the last sentence of the check
    choices: list[str] = field(default_factory=list)  # the question's, once it has been asked

    @classmethod
    def begin(cls, started: dict[str, str], earlier: "Attempt | None" = None) -> "Attempt":
        """Return a new attempt, after an earlier one at the same lesson."""
        new = cls(new_word(), time.time(), started)
        if earlier:
            new.attempts, new.best = earlier.attempts + 1, earlier.result
        return new

    @classmethod
    def load(cls, file: Path) -> "Attempt | None":
        """Return the attempt in a file, None if there is no file. Raise StartAgain if the file is damaged."""
        if not file.exists():
            return None
        try:
            kept = json.loads(file.read_text())
            if kept.get("best"):
                kept["best"] = Result(**kept["best"])
            known = {field.name for field in fields(cls)}  # an earlier release stored more fields
            return cls(**{name: value for name, value in kept.items() if name in known})
        except (ValueError, TypeError, AttributeError) as error:
            raise StartAgain(f"{file} is damaged ({error}). Remove it, and begin the lesson again.") from None

    def save(self, file: Path) -> None:
        """Write the attempt to a file."""
        file.parent.mkdir(parents=True, exist_ok=True)
        new = file.with_suffix(".new")
        new.write_text(json.dumps(asdict(self), indent=1) + "\n")
        new.replace(file)

    @property
    def result(self) -> Result | None:
        """The best result so far, of this attempt or an earlier one: the one with the fewest answers."""
        mine = Result(self.began, self.done, self.answers) if self.done else None
        found = [result for result in (self.best, mine) if result]
        return min(found, key=lambda result: result.answers, default=None)
