"""results.md: the tables of a lab, for the reader of its README."""

import re
from collections.abc import Sequence
from datetime import datetime

from labs.bench import words
from labs.bench.report import tables
from labs.bench.report.exhibits import Exhibit
from labs.bench.report.reading import Lab
from labs.bench.report.tables import Table


def results(lab: Lab, exhibits: Sequence[Exhibit]) -> str:
    """The whole file: the conditions, every table once, the notes. Without exhibits it has all figures."""
    shown = [table for exhibit in exhibits for table in exhibit.tables()]
    parts = [
        f"# Results: {_safe(lab.title)}",
        f"Written by `make lab LAB={lab.name} PUBLISH=1`; [README.md](README.md) says how to read them.",
        conditions(lab),
        *dict.fromkeys(map(_table, shown or [tables.plain("Every cell, every metric: medians", lab.cells)])),
        *(_table(table) for table in (tables.published(lab), tables.rejected(lab)) if table),
        "\n".join(f"- {_safe(note)}" for note in notes(lab)),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def notes(lab: Lab) -> list[str]:
    """What to distrust."""
    waiting = sum(not cell.median and not cell.problem for cell in lab.cells)
    missing = f"{waiting} of {words.plural(len(lab.cells), 'cell')}" if waiting else "repetitions"
    unfinished = [] if lab.results.finished else [f"Half measured, still to come: {missing}."]
    return [*unfinished, *lab.results.noise["notes"]]


def conditions(lab: Lab) -> str:
    """One line: when, how, on what machine, how quiet it was, with which versions."""
    results = lab.results
    when = datetime.fromisoformat(results.finished or results.started)
    repetitions = max((len(cell.samples) for cell in lab.cells), default=0)
    machine = results.machine
    parts = [
        f"Measured {when.day} {when:%B %Y, %H:%M} UTC",
        f"{results.mode} mode",
        words.plural(repetitions, "repetition"),
        f"on {machine.get('cpu', 'an unknown machine')}",
        words.plural(machine["cores"], "core") if "cores" in machine else "",
        f"{machine['memory_bytes'] / 2**30:.1f} GiB" if "memory_bytes" in machine else "",
        f"Linux {machine['kernel']}" if "kernel" in machine else "",
        f"Docker {machine['engine']}" if "engine" in machine else "",
        f"calibration spread {words.number(results.noise['calibration_spread_percent'])} %",
    ]
    versions = ", ".join(f"{name} {version}" for name, version in results.versions.items())
    return f"{', '.join(filter(None, parts))}; {versions}."


def _table(table: Table) -> str:
    line = "|" + "|".join(["---"] * table.labels + ["--:"] * (len(table.head) - table.labels)) + "|"
    head, *body = ["| " + " | ".join(map(_safe, row)) + " |" for row in [table.head, *table.rows]]
    return "\n".join([f"## {_safe(table.caption)}", "", head, line, *body])


def _safe(text: str) -> str:
    """Escape whatever Markdown or HTML would interpret."""
    return re.sub(r"([\\`*_|&<>\[\]])", r"\\\1", text).replace("\n", " ")
