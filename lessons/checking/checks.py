"""A lesson's check.py, and the choices for the question at its end."""

import importlib.util
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType

from lessons.lesson import Lesson

from .errors import Missing
from .laboratory import Laboratory
from .question import Question

Need = Callable[..., None]  # need(fact, refusal, *figures): raises Missing unless the fact is true


def check(lesson: Lesson, lab: Laboratory) -> None:
    """Run the lesson's own check of an attempt; raise Missing for the first fault."""
    _module(lesson.folder).check(lab, _need(lesson, lab.word))


def questions(lesson: Lesson) -> list[Question]:
    """Return all questions that may be asked: the only one, or those of QUESTIONS."""
    several: dict[str, Question] = getattr(_module(lesson.folder), "QUESTIONS", {})
    return list(several.values()) or [Question(lesson.told["choices"])]


def question(lesson: Lesson, lab: Laboratory) -> Question:
    """Return the question of an attempt; a lesson with QUESTIONS chooses one. Raise Missing."""
    if len(questions(lesson)) == 1:
        return questions(lesson)[0]
    chosen: Question = _module(lesson.folder).question(lab, _need(lesson, lab.word))
    return chosen


@cache
def _module(folder: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"check_{folder.name[:2]}", folder / "check.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _need(lesson: Lesson, word: str) -> Need:
    def need(fact: object, refusal: str, *figures: object) -> None:
        if not fact:
            raise Missing(lesson.told["refused"][refusal].format(*figures).replace("WORD", word))

    return need
