"""The files of /lessons/: the list, each lesson with the learner's state, its solution, and the course."""

import re
import shutil
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from lessons.lesson import LESSONS, Lesson, filled, gone, lessons, section
from lessons.pages.html import line_to_html, to_html
from lessons.pages.results import NOTHING

HERE = Path(__file__).parent
DOCS = LESSONS.parent / "docs"
ASSETS = ("lesson.js", "lessons.css")
TEMPLATES = Environment(
    loader=FileSystemLoader(HERE / "templates"), autoescape=True, undefined=StrictUndefined
)
TEMPLATES.filters["inline"] = line_to_html


def write_site(folder: Path, results: dict[int, dict[str, Any]], ports: dict[str, str]) -> None:
    """Write all pages into a folder, in place of earlier ones. Raise OSError."""
    made = folder.with_name(f"{folder.name}.new")
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    for name, html in pages(results, ports).items():
        file = made / f"{name}.html"
        file.parent.mkdir(exist_ok=True)
        file.write_text(html, "utf-8")
    for name in ASSETS:
        shutil.copyfile(HERE / name, made / name)
    (made / "pictures").mkdir()
    for picture in (DOCS / "slides" / "pictures").glob("*.svg"):
        shutil.copyfile(picture, made / "pictures" / picture.name)
    before = folder.with_name(f"{folder.name}.before")
    shutil.rmtree(before, ignore_errors=True)
    if folder.exists():
        folder.rename(before)
    made.rename(folder)
    shutil.rmtree(before, ignore_errors=True)


def pages(results: dict[int, dict[str, Any]], ports: dict[str, str]) -> dict[str, str]:
    """Return the HTML of each page, by its name below /lessons/; `results` are from results.py, by number."""
    every = lessons()
    states = {lesson.number: results.get(lesson.number, NOTHING) for lesson in every}
    heading, _, course = (DOCS / "course.md").read_text("utf-8").partition("\n")
    order = section(course, "Order of study").partition("\n|")[0]  # the course's picture
    found = {
        "index": _page("list", lessons=every, states=states, order=to_html(order, "docs")),
        "course": _page("text", title=heading.lstrip("# "), body=to_html(filled(course, "", ports), "docs")),
        "cheat-sheet": filled((DOCS / "slides" / "cheat-sheet.html").read_text("utf-8"), "", ports),
    }
    for before, lesson, after in zip([None, *every], every, [*every[1:], None], strict=False):
        result = states[lesson.number]
        word = result["word"]
        name, folder = lesson.folder.name, f"lessons/{lesson.folder.name}"

        def text(markdown: str, folder: str = folder, word: str = word) -> str:
            return to_html(filled(markdown, "", ports), folder, word)

        found[name] = _page(
            "lesson",
            lesson=lesson,
            result=result,
            body=text(lesson.page.partition("\n")[2]),
            question=text(lesson.question_text),
            before=before,
            after=after,
        )
        if result["state"] == "done":
            body = text(lesson.solution.partition("\n")[2])
            title = f"{lesson.number}. {lesson.title}: solution"
            found[f"{name}/solution"] = _page("text", title=title, body=body, lesson=lesson)
    by_number = {lesson.number: lesson for lesson in every}
    for number, leads in gone().items():
        to = by_number.get(leads.get("lesson", 0))
        found[f"{number:02}-moved"] = _page("moved", lesson=to, leads=leads)
    return found


def first_sentence(lesson: Lesson) -> str:
    """Return the first sentence of a lesson's goal, for the list."""
    return re.split(r"(?<=[.?])\s", lesson.goal, maxsplit=1)[0]


def _page(template: str, **variables: Any) -> str:
    return TEMPLATES.get_template(f"{template}.html").render(first_sentence=first_sentence, **variables)
