"""A lesson: README.md, its page; lesson.toml, what it may change and say; check.py; solution.md."""

import importlib.util
import os
import re
import textwrap
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from types import ModuleType
from typing import Any

from .attempt import Attempt
from .errors import Missing
from .laboratory import Laboratory
from .question import Question

LESSONS = Path(__file__).resolve().parents[1]
Need = Callable[..., None]  # need(fact, refusal, *figures): raises Missing unless the fact is true
FOLDER = re.compile(r"(\d\d)-[a-z-]+")
PORTS = {"HTTP_PORT": "8080", "HTTPS_PORT": "8443", "LOCUST_PORT": "8089", "OBSERVE_PORT": "9090"}


@dataclass(frozen=True)
class Lesson:
    """One folder of lessons/."""

    folder: Path

    @property
    def number(self) -> int:
        """Its position in the course, from 1."""
        return int(self.folder.name[:2])

    @cached_property
    def page(self) -> str:
        """README.md."""
        return (self.folder / "README.md").read_text()

    @property
    def title(self) -> str:
        """The page's heading, without the number."""
        return self.page.splitlines()[0].lstrip("# ").partition(". ")[2]

    def section(self, heading: str) -> str:
        """The text below a heading of the second level. Raise KeyError if there is none."""
        found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", self.page, re.M | re.S)
        if not found:
            raise KeyError(f"{self.folder.name}/README.md has no '## {heading}'")
        return found[1].strip()

    @property
    def goal(self) -> str:
        """The text between the page's heading and the next one."""
        return self.page.partition("\n")[2].partition("\n## ")[0].strip()

    @cached_property
    def _module(self) -> ModuleType:
        spec = importlib.util.spec_from_file_location(f"check_{self.number}", self.folder / "check.py")
        assert spec
        assert spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    @property
    def question_text(self) -> str:
        """The question at its end, without the hint."""
        return self.section("Question").partition("<details>")[0].strip()

    @property
    def hint(self) -> str:
        """The hint for the question."""
        found = re.search(r"<summary>Hint</summary>(.*?)</details>", self.section("Question"), re.S)
        return found[1].strip() if found else ""

    @property
    def questions(self) -> list[Question]:
        """All choices for it: the same for each attempt, or those of QUESTIONS."""
        several: dict[str, Question] = getattr(self._module, "QUESTIONS", {})
        return list(several.values()) or [Question(self.told["choices"])]

    def question(self, lab: Laboratory) -> Question:
        """The choices for it, of which a lesson with QUESTIONS chooses those that suit the attempt."""
        if len(self.questions) == 1:
            return self.questions[0]
        chosen: Question = self._module.question(lab, self._need(lab.word))
        return chosen

    def names(self, kind: str) -> frozenset[str]:
        """What lesson.toml names: changes, changed_rules, restarts or edits (lessons/README.md)."""
        return frozenset(self.told.get(kind, ()))

    @property
    def changes(self) -> frozenset[str]:
        """The files that may be changed when it is checked, such as `varnish/media.vcl`."""
        return self.names("changes")

    @cached_property
    def told(self) -> dict[str, Any]:
        """lesson.toml, with the `choices` of the question, their reasons, and the sentences of `refused`."""
        return tomllib.loads((self.folder / "lesson.toml").read_text())

    @cached_property
    def solution(self) -> str:
        """solution.md: how it is done."""
        return (self.folder / "solution.md").read_text()

    def check(self, lab: Laboratory) -> None:
        """Look at the evidence. Raise Missing."""
        self._module.check(lab, self._need(lab.word))

    def _need(self, word: str) -> Need:
        def need(fact: object, refusal: str, *figures: object) -> None:
            if not fact:
                raise Missing(self.told["refused"][refusal].format(*figures).replace("WORD", word))

        return need


def lessons() -> list[Lesson]:
    """All of them, in order."""
    pages = sorted(LESSONS.glob("*/README.md"))  # a renamed lesson leaves a folder with compiled files behind
    return [Lesson(page.parent) for page in pages if FOLDER.fullmatch(page.parent.name)]


def filled(text: str, attempt: Attempt) -> str:
    """A part of a page with the attempt's word and this stack's ports."""
    text = text.replace("WORD", attempt.word)
    for name, default in PORTS.items():
        text = re.sub(rf"(?<=localhost:){default}\b", os.environ[name], text)
    return text


def as_typed(text: str, attempt: Attempt, width: int = 100) -> str:
    """A part of a page, filled, for a terminal, in lines of `width`.

    Commands and tables stay as they are, because they are copied or have columns.
    """
    text = re.sub(r"\*\*(.+?)\*\*", r"\1", filled(text, attempt))
    fill = partial(textwrap.fill, width=width, break_long_words=False, break_on_hyphens=False)
    blocks = []
    for block in re.split(r"\n(?=\n|\d+\. |- )", text):
        begin = block.lstrip("\n")
        if not begin.startswith(("    ", "|")):
            mark = re.match(r"\d+\. |- | *", begin)
            first = mark[0] if mark else ""
            words = " ".join(begin[len(first) :].split())
            begin = fill(words, initial_indent=first, subsequent_indent=" " * len(first))
        blocks.append("\n" * (len(block) - len(block.lstrip("\n"))) + begin)
    return "\n".join(blocks)
