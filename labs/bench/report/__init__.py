"""The report of a lab: the tables and the picture that may be published as its results.md and results.svg.

Everything that appears here comes from the lab's results and its lab.toml; this package does not know any lab
by name.
"""

from pathlib import Path

from labs.bench.report import markdown
from labs.bench.report.exhibits import Exhibit
from labs.bench.report.reading import Lab

__all__ = ["write"]


def write(lab: Lab, folder: Path) -> None:
    """Write NAME.md and, if the lab has a picture, NAME.svg. Raise OSError if they cannot be written."""
    exhibits = [Exhibit(lab, wanted) for wanted in lab.exhibits]
    (folder / f"{lab.name}.md").write_text(markdown.results(lab, exhibits), "utf-8")
    if picture := next(filter(None, (exhibit.picture() for exhibit in exhibits)), None):
        (folder / f"{lab.name}.svg").write_bytes(picture)
