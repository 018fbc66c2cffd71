"""The report: results -> one page to look at, and tables in the labs' README files.

It reads what it finds: a lab that is missing, half measured or refused in part is said to be so.
"""

from base64 import b64encode
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from bench.report import conditions, markdown
from bench.report.chapters import Chapter, chapter
from bench.report.goals import MET, MISSED, goals
from bench.report.reading import read

__all__ = ["write"]

HERE = Path(__file__).parent
# The page wears the clothes of the theatre's own site.
SITE = HERE.parents[2] / "backend" / "src" / "upstage" / "site"
STYLES = (SITE / "style" / "main.css", HERE / "style.css")


def write(results_folder: Path, labs_folder: Path) -> Path:
    """Write report.html into the folder of the results and the tables into the labs' README files.

    `results_folder` holds NAME.json as the runner writes it, `labs_folder` a folder for each lab.
    Returns the page. OSError if it cannot be written.
    """
    labs = read(results_folder, labs_folder)
    chapters = [chapter(lab) for lab in labs]
    for each in chapters:
        markdown.insert(each, labs_folder / each.lab.name / "README.md")
    results_folder.mkdir(parents=True, exist_ok=True)
    page = results_folder / "report.html"
    page.write_text(_page(chapters), "utf-8")
    return page


def _page(chapters: list[Chapter]) -> str:
    templates = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    labs = [each.lab for each in chapters]
    run = [lab.results for lab in labs if lab.results]
    lines = goals(labs)
    return templates.get_template("page.html.jinja").render(
        chapters=chapters,
        goals=lines,
        met=sum(goal.verdict == MET for goal in lines),
        missed=sum(goal.verdict == MISSED for goal in lines),
        modes=sorted({results.mode for results in run}),
        day=conditions.day(max(each.finished or each.started for each in run)) if run else "",
        machines=conditions.machines(labs),
        house=[conditions.runs(labs), conditions.versions(labs)] if run else [],
        style=Markup("".join(file.read_text("utf-8") for file in STYLES)),
        logo=_data(SITE / "image" / "logo.svg"),
        icon=_data(SITE / "image" / "favicon.svg"),
        valance=_data(SITE / "image" / "valance.svg"),
        curtain=_data(SITE / "image" / "curtain.svg"),
    )


def _data(picture: Path) -> str:
    """A picture as an address that holds the picture itself: the page asks the network for nothing."""
    return "data:image/svg+xml;base64," + b64encode(picture.read_bytes()).decode()
