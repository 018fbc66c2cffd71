"""results.md: the tables of a lab, for the reader of its README."""

import re

from bench.report.chapters import Chapter
from bench.report.conditions import in_one_line
from bench.report.tables import Table


def results(chapter: Chapter) -> str:
    """The whole file: the conditions, every table once, the notes."""
    lab = chapter.lab
    tables = dict.fromkeys(_table(table) for exhibit in chapter.exhibits for table in exhibit.tables)
    if chapter.everything and not tables:
        tables = {_table(chapter.everything): None}
    parts = [
        f"# Results: {_safe(lab.title)}",
        f"Written by `make lab LAB={lab.name} PUBLISH=1`; [README.md](README.md) says how to read them.",
        in_one_line(lab),
        *tables,
        *(_table(table) for table in (chapter.published, chapter.rejected) if table),
        "\n".join(f"- {_safe(note)}" for note in chapter.notes),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _table(table: Table) -> str:
    line = "|" + "|".join(["---"] * table.labels + ["--:"] * (len(table.head) - table.labels)) + "|"
    head, *body = ["| " + " | ".join(map(_safe, row)) + " |" for row in [table.head, *table.rows]]
    return "\n".join([f"## {_safe(table.caption)}", "", head, line, *body])


def _safe(text: str) -> str:
    """Escape whatever Markdown or HTML would interpret."""
    return re.sub(r"([\\`*_|&<>\[\]])", r"\\\1", text).replace("\n", " ")
