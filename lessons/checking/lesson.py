"""A lesson: its page, README.md, and its check, check.py."""

import importlib.util
import os
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType

from .attempt import Attempt
from .question import Question

LESSONS = Path(__file__).resolve().parents[1]
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
        return list(getattr(self._module, "QUESTIONS", {}).values()) or [self._module.QUESTION]

    def question(self, attempt: Attempt) -> Question:
        """The choices for it, of which a lesson with QUESTIONS chooses those that suit the attempt."""
        chosen: Question = self._module.question(attempt) if len(self.questions) > 1 else self.questions[0]
        return chosen

    @property
    def changes(self) -> frozenset[str]:
        """The files that may be changed when it is checked, such as `varnish/media.vcl`."""
        return frozenset(getattr(self._module, "CHANGES", ()))

    @property
    def reads(self) -> frozenset[str]:
        """What its rule may read of a request, such as `req.http.cookie`."""
        return frozenset(getattr(self._module, "READS", ()))

    @property
    def changed_rules(self) -> frozenset[str]:
        """The rows of docs/caching-rules.md, by their first column, that these changes may break."""
        return frozenset(getattr(self._module, "CHANGED_RULES", ()))

    @property
    def restarts(self) -> frozenset[str]:
        """The services that the learner may restart during the attempt."""
        return frozenset(getattr(self._module, "RESTARTS", ()))

    @property
    def check(self) -> Callable[[Attempt], None]:
        """Looks at the evidence; raises Missing."""
        check: Callable[[Attempt], None] = self._module.check
        return check


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
    blocks = []
    for block in re.split(r"\n(?=\n|\d+\. |- )", text):
        begin = block.lstrip("\n")
        if not begin.startswith(("    ", "|")):
            mark = re.match(r"\d+\. |- | *", begin)
            first = mark[0] if mark else ""
            words = " ".join(begin[len(first) :].split())
            begin = textwrap.fill(
                words,
                width,
                initial_indent=first,
                subsequent_indent=" " * len(first),
                break_long_words=False,
                break_on_hyphens=False,
            )
        blocks.append("\n" * (len(block) - len(block.lstrip("\n"))) + begin)
    return "\n".join(blocks)
