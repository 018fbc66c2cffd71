"""The report: one page about all labs; the tables and the first picture of each, which may be published as
its results.md and results.svg.

Everything about a lab that appears here comes from its results and its lab.toml; this package does not know
any lab by name. A lab that is missing, half measured or rejected in part is shown as such.
"""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from bench.report import chapters, headlines, markdown
from bench.report.reading import Lab, read

__all__ = ["write"]

HERE = Path(__file__).parent


def write(results_folder: Path, labs_folder: Path) -> Path:
    """Write report.html and, for each measured lab, NAME.md and NAME.svg into the folder of the results.

    `results_folder` holds NAME.json as the runner writes it, `labs_folder` a folder for each lab.
    Returns the page. Raise OSError if it cannot be written.
    """
    labs = read(results_folder, labs_folder)
    found = [chapters.chapter(lab) for lab in labs]
    results_folder.mkdir(parents=True, exist_ok=True)
    for chapter in found:
        if chapter.lab.results:
            (results_folder / f"{chapter.lab.name}.md").write_text(markdown.results(chapter), "utf-8")
            for plot in [plot for exhibit in chapter.exhibits for plot in exhibit.plots][:1]:
                (results_folder / f"{chapter.lab.name}.svg").write_bytes(plot.svg)
    page = results_folder / "report.html"
    page.write_text(_page(labs, found), "utf-8")
    return page


def _page(labs: list[Lab], found: list[chapters.Chapter]) -> str:
    templates = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return templates.get_template("page.html.jinja").render(
        chapters=found,
        headlines=headlines.figures(labs),
        modes={lab.results.mode for lab in labs if lab.results},
        conditions=markdown.conditions,
        style=Markup((HERE / "style.css").read_text("utf-8")),  # noqa: S704  # our file
    )
