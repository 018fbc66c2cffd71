"""The texts of the course, read at the start: lessons and solutions, the course itself, the cheat sheet."""

import re
from dataclasses import dataclass
from pathlib import Path

from upstage.web.markdown import line_to_html, to_html, with_ports
from upstage.web.visit import Published

FOLDER = re.compile(r"\d\d-[a-z-]+")


@dataclass(frozen=True)
class Lesson:
    """One lesson; all but `name` and `title` is HTML, in which markdown.WORD may be."""

    name: str  # the folder's, such as 01-first-hit
    title: str
    goal: str  # its first sentence
    needs: str  # the lessons that it builds on, and the time that it takes: a sentence or two
    question: str  # at its end, without the hint
    body: str  # everything below the title
    solution: str = ""  # the body of its solution; empty: there is none

    @property
    def number(self) -> int:
        """The lesson's position in the course, from 1."""
        return int(self.name[:2])

    @property
    def encore(self) -> bool:
        """Whether it is optional: done if there is time left."""
        return self.title.startswith("Encore: ")


@dataclass(frozen=True)
class Course:
    """All pages below /lessons/; `body`, `order` and `sheet` are HTML."""

    lessons: list[Lesson]
    title: str
    body: str  # everything below the title
    order: str  # of that, the picture that says which lesson builds on which
    sheet: str  # the cheat sheet, a whole document
    pictures: Path  # the folder of the pictures of both


def read_course(folder: Path | None, published: Published) -> Course | None:
    """Read the lessons of a folder, and the course from `docs` beside it; None if there is no such folder.

    Raise OSError.
    """
    if folder is None or not folder.is_dir():
        return None
    slides = folder.parent / "docs" / "slides"
    heading, _, body = (folder.parent / "docs" / "course.md").read_text("utf-8").partition("\n")
    return Course(
        lessons=read_lessons(folder, published),
        title=heading.removeprefix("# "),
        body=to_html(body, "docs", published),
        order=to_html(section(body, "Order of study").partition("\n|")[0], "docs", published),
        sheet=with_ports((slides / "cheat-sheet.html").read_text("utf-8"), published),
        pictures=slides / "pictures",
    )


def read_lessons(folder: Path, published: Published) -> list[Lesson]:
    """Read every lesson of a folder, in order. Raise OSError."""
    pages = sorted(page for page in folder.glob("*/README.md") if FOLDER.fullmatch(page.parent.name))
    return [
        read_lesson(
            page.parent.name,
            page.read_text("utf-8"),
            published,
            page.with_name("solution.md").read_text("utf-8"),
        )
        for page in pages
    ]


def read_lesson(name: str, text: str, published: Published, solution: str = "") -> Lesson:
    """Make a lesson from its Markdown and its solution's; its commands name the ports of this stack."""
    heading, _, body = text.partition("\n")
    folder = f"lessons/{name}"
    return Lesson(
        name=name,
        title=re.sub(r"^# (\d+\. )?", "", heading),
        goal=line_to_html(re.split(r"(?<=[.?])\s", body.strip(), maxsplit=1)[0]),
        needs=line_to_html(section(body, "Start").partition("\n\n")[0]),
        question=to_html(section(body, "Question").partition("<details>")[0], folder, published),
        body=to_html(body, folder, published),
        solution=to_html(solution.partition("\n")[2], folder, published),
    )


def section(body: str, heading: str) -> str:
    """Return the text below a heading of the second level; empty if there is none."""
    found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", body, re.M | re.S)
    return found[1].strip() if found else ""
