"""The attempts made in this checkout, one file for each lesson, and the learner's results."""

import fcntl
import json
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lessons.lesson import Lesson, lessons
from proscenium.running import NotRunning, running

from .attempt import Attempt
from .checks import question
from .errors import Missing, StartAgain
from .evidence import Evidence
from .judging import judge, same_stack
from .laboratory import Laboratory
from .question import LETTERS, Question
from .shipped import CONFIGURATION, changed_files


@dataclass(frozen=True)
class Finding:
    """The result of a check; `question` (Markdown) and its choices, if only the question is left."""

    done: bool
    verdict: str
    question: str = ""
    choices: tuple[str, ...] = ()

    @property
    def listed(self) -> str:
        """The choices, one on each line."""
        lines = (f"  {name}) {choice}" for name, choice in zip(LETTERS, self.choices, strict=False))
        return "\n".join(lines)

    @property
    def text(self) -> str:
        """The whole result, as text."""
        return "\n\n".join(filter(None, (self.verdict, self.question, self.listed)))


class Progress:
    """All attempts; `evidence` is read from the stack."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.folder = evidence.state / "lessons"

    def file_of(self, lesson: Lesson) -> Path:
        """Return the file with the attempt at a lesson."""
        return self.folder / f"{lesson.number:02}.json"

    def attempt(self, lesson: Lesson) -> Attempt | None:
        """Return the last attempt at a lesson. Raise StartAgain if its file is damaged."""
        return Attempt.load(self.file_of(lesson))

    def results(self) -> list[dict[str, Any]]:
        """Return the fields of docs/teaching.md for each lesson: for grading, and for the lessons' pages."""
        found = []
        for lesson in lessons():
            attempt = self.attempt(lesson)
            best = attempt.result if attempt else None
            found.append(
                {
                    "lesson": lesson.number,
                    "title": lesson.title,
                    "state": "" if attempt is None else "done" if best else "begun",
                    "began": best.began if best else attempt.began if attempt else None,
                    "done": best.done if best else None,
                    "answers": best.answers if best else attempt.answers if attempt else 0,
                    "attempts": attempt.attempts if attempt else 0,
                    "word": attempt.word if attempt else "",
                    "said": attempt.said if attempt else "",
                    "choices": attempt.choices if attempt else [],
                }
            )
        return found

    def publish(self) -> None:
        """Bring all results to the page /lessons/; a stopped backend gets them with the next command."""
        sent = self.folder / "sent"
        with self._locked("publishing"), suppress(NotRunning, StartAgain):
            results = json.dumps(self.results())
            if not sent.exists() or sent.read_text() != results:
                running().upstage("lessons", given=results)
                sent.write_text(results)

    @contextmanager
    def _locked(self, name: str = "lock") -> Iterator[None]:
        """Let one command run at a time, so that answers given at the same time are all counted."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / name).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def begin(self, lesson: Lesson, again: bool = False) -> tuple[Attempt, str]:
        """Return the attempt to work on, and a sentence about it. Raise StartAgain.

        An earlier attempt continues, unless `again` is set or the stack no longer has its evidence.
        """
        with self._locked():
            earlier = self.attempt(lesson)
            why = ""
            if earlier and not again:
                if earlier.done:
                    return earlier, "It is done."
                try:
                    same_stack(lesson, Laboratory(earlier, self.evidence))
                    return earlier, "This attempt goes on."
                except StartAgain as error:
                    why = f"{str(error).partition('. ')[0]}, so this is a new attempt."
            changed = changed_files(CONFIGURATION)
            if changed:
                raise StartAgain(
                    f"Changed since it was shipped: {', '.join(changed)}. A lesson begins with the shipped "
                    "configuration: make lesson RESET=1 restores it and keeps your changes as a patch."
                )
            attempt = Attempt.begin(self.evidence.started(), earlier)
            attempt.save(self.file_of(lesson))
            return attempt, why

    def check(self, lesson: Lesson, letter: str = "", judged: bool = False) -> Finding:
        """Judge the attempt, then the answer to the question: a letter, or empty. Raise StartAgain.

        `judged`: the last check asked the question, and nothing has happened since.
        """
        with self._locked():
            attempt = self.attempt(lesson)
            if attempt is None:
                raise StartAgain(
                    f"Lesson {lesson.number} has not begun. Type: make lesson LESSON={lesson.number}"
                )
            if attempt.done:
                return Finding(True, f"Lesson {lesson.number} is done: {sentence(lesson.title)}")
            lab = Laboratory(attempt, self.evidence)
            judged = judged and bool(attempt.choices)  # another command may have judged or begun since
            try:
                if not judged:
                    attempt.choices = []
                    judge(lesson, lab)
                finding = _answer(lesson, question(lesson, lab), attempt, letter)
                attempt.said = finding.verdict.partition("\n\n")[0].replace("is left:", "is left.")
            except Missing as missing:
                finding = Finding(False, f"Not done yet: {missing}")
                attempt.said = str(missing)
            except StartAgain as error:
                attempt.said = str(error)
                raise
            except Exception as error:
                attempt.said = failure(error)
                raise StartAgain(attempt.said) from error
            finally:
                attempt.save(self.file_of(lesson))
            return finding


def _answer(lesson: Lesson, asked: Question, attempt: Attempt, letter: str) -> Finding:
    """Judge the answer, or ask the question."""
    text = ""
    if letter:
        try:
            choice = asked.chosen(letter, f"{attempt.word} {attempt.answers}")
        except ValueError as error:
            raise StartAgain(str(error)) from None
        attempt.answers += 1
        right = choice == asked.right
        text = f"{choice}\n{'Right' if right else 'No'}: {asked.reasons[choice]}\n\n"
        if right:
            attempt.done = time.time()
            return Finding(True, f"{text}Lesson {lesson.number} is done: {sentence(lesson.title)}")
    attempt.choices = asked.choices(f"{attempt.word} {attempt.answers}")
    text += "What you did is right. One question is left:"
    return Finding(False, text, lesson.question_text, tuple(attempt.choices))


def failure(error: Exception) -> str:
    """Return the message to a learner if a check itself fails."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f"The check itself failed: {type(error).__name__}: {error} ({Path(where.filename).name}, line "
        f"{where.lineno}). That is not your fault; please report this line (CONTRIBUTING.md)."
    )


def sentence(title: str) -> str:
    """Return a title as the end of a sentence."""
    return title if title.endswith(("?", "!")) else f"{title}."
