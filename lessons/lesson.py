"""A lesson as written in its folder: README.md, lesson.toml and solution.md; check.py is not read here.

It uses only the standard library: the checks, the site's pages and the teacher's commands read it.
"""

import re
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

LESSONS = Path(__file__).resolve().parent
FOLDER = re.compile(r"(\d\d)-[a-z-]+")
PORTS = {"HTTP_PORT": "8080", "HTTPS_PORT": "8443", "LOCUST_PORT": "8089", "OBSERVE_PORT": "9090"}


@dataclass(frozen=True)
class Lesson:
    """One folder of lessons/."""

    folder: Path

    @property
    def number(self) -> int:
        """The lesson's number in the course."""
        return int(self.folder.name[:2])

    @cached_property
    def page(self) -> str:
        """The text of README.md."""
        return (self.folder / "README.md").read_text("utf-8")

    @property
    def title(self) -> str:
        """The page's heading, without the number."""
        return self.page.splitlines()[0].lstrip("# ").partition(". ")[2]

    @property
    def goal(self) -> str:
        """The text between the page's heading and the next one."""
        return self.page.partition("\n")[2].partition("\n## ")[0].strip()

    def section(self, heading: str) -> str:
        """Return the text below a heading of the second level. Raise KeyError if there is none."""
        return section(self.page, heading)

    @property
    def question_text(self) -> str:
        """The question at the page's end, without the hint."""
        return self.section("Question").partition("<details>")[0].strip()

    @property
    def hint(self) -> str:
        """The hint for the question."""
        found = re.search(r"<summary>Hint</summary>(.*?)</details>", self.section("Question"), re.S)
        return found[1].strip() if found else ""

    @cached_property
    def solution(self) -> str:
        """The text of solution.md: how the lesson is done."""
        return (self.folder / "solution.md").read_text("utf-8")

    @cached_property
    def told(self) -> dict[str, Any]:
        """lesson.toml, with the question's `choices`, their reasons, and the sentences of `refused`."""
        return tomllib.loads((self.folder / "lesson.toml").read_text("utf-8"))

    def names(self, kind: str) -> frozenset[str]:
        """Return the names in a list of lesson.toml, such as changes or restarts (lessons/README.md)."""
        return frozenset(self.told.get(kind, ()))

    @property
    def changes(self) -> frozenset[str]:
        """The files that may be changed when the lesson is checked, such as `varnish/media.vcl`."""
        return self.names("changes")

    @property
    def optional(self) -> bool:
        """Whether the lesson is for learners who have time left."""
        return bool(self.told.get("optional"))


def lessons() -> list[Lesson]:
    """Return all lessons, in order."""
    pages = sorted(LESSONS.glob("*/README.md"))  # a renamed lesson leaves a folder with compiled files
    return [Lesson(page.parent) for page in pages if FOLDER.fullmatch(page.parent.name)]


def gone() -> dict[int, dict[str, Any]]:
    """Return the numbers of removed lessons, and where each leads: `lesson`, a number, or `page`, a path."""
    leads = tomllib.loads((LESSONS / "gone.toml").read_text("utf-8"))
    return {int(number): lead for number, lead in leads.items()}


def section(page: str, heading: str) -> str:
    """Return the text of a page below a heading of the second level. Raise KeyError if there is none."""
    found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", page, re.M | re.S)
    if not found:
        raise KeyError(f"There is no '## {heading}'")
    return found[1].strip()


def filled(text: str, word: str, ports: dict[str, str]) -> str:
    """Return a part of a page with an attempt's word and a stack's ports; with an empty word, WORD stays."""
    for name, default in PORTS.items():
        text = re.sub(rf"(?<=localhost:){default}\b", ports[name], text)
    return text.replace("WORD", word) if word else text
