"""The tables in the labs' README files, between two markers."""

import re
from pathlib import Path

from bench.report.chapters import Chapter
from bench.report.conditions import in_one_line
from bench.report.tables import Table

BEGIN, END = "<!-- results -->", "<!-- /results -->"


def insert(chapter: Chapter, readme: Path) -> bool:
    """Replace what stands between the markers; whether the file has them and the lab has results."""
    if not chapter.lab.results or not readme.exists():
        return False
    text = readme.read_text("utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        return False
    readme.write_text(f"{before}{begin}\n{section(chapter)}\n{end}{after}", "utf-8")
    return True


def section(chapter: Chapter) -> str:
    """All tables of a lab, each once, and what they were measured with in one line."""
    shown = [table for exhibit in chapter.exhibits if exhibit.in_readme for table in exhibit.tables]
    if chapter.everything and not shown:
        shown = [chapter.everything]
    parts = [in_one_line(chapter.lab), *dict.fromkeys(map(_table, shown))]
    if chapter.published:
        parts.append(_table(chapter.published))
    remarks = [f"Refused: {cell}: {why}" for cell, why in chapter.refused]
    if chapter.unfinished:
        remarks.append(chapter.unfinished)
    remarks += chapter.lab.results.noise["notes"] if chapter.lab.results else []
    if remarks:
        parts.append("\n".join(f"- {_safe(remark)}" for remark in remarks))
    return "\n\n".join(parts)


def _table(table: Table) -> str:
    line = "|" + "|".join(["---"] * table.labels + ["--:"] * (len(table.head) - table.labels)) + "|"
    rows = [table.head, *table.rows]
    head, *body = ["| " + " | ".join(map(_safe, row)) + " |" for row in rows]
    return "\n".join([f"**{_safe(table.caption)}**", "", head, line, *body])


def _safe(text: str) -> str:
    """Nothing in a figure or a reason is meant as Markdown or HTML."""
    return re.sub(r"([\\`*_|&<>\[\]])", r"\\\1", text).replace("\n", " ")
