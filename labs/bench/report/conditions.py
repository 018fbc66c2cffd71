"""The conditions of the measurements: machine, versions, mode, day, and how quiet the machine was."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from bench import words
from bench.report.reading import Lab
from bench.report.tables import Table, distinct


def in_one_line(lab: Lab) -> str:
    """One line: when, how, on what, with which versions."""
    results = lab.results
    assert results
    versions = ", ".join(f"{name} {version}" for name, version in results.versions.items())
    when = day(results.finished or results.started)
    return f"Measured {when}, {mode(lab)}, on {machine(results.machine)}; {versions}."


def machine(found: Mapping[str, object]) -> str:
    """CPU, cores, memory, kernel, engine."""
    memory = found.get("memory_bytes")
    parts = [
        str(found.get("cpu", "an unknown machine")),
        words.plural(cores, "core") if isinstance(cores := found.get("cores"), int) else "",
        f"{memory / 2**30:.1f} GiB" if isinstance(memory, int | float) else "",
        f"Linux {found['kernel']}" if "kernel" in found else "",
        f"Docker {found['engine']}" if "engine" in found else "",
    ]
    return ", ".join(filter(None, parts))


def machines(labs: Sequence[Lab]) -> list[str]:
    """Every machine that figures come from."""
    return distinct(machine(lab.results.machine) for lab in labs if lab.results)


def mode(lab: Lab) -> str:
    """The mode, with the number of repetitions."""
    repetitions = max((len(cell.samples) for cell in lab.cells), default=0)
    return f"{lab.results.mode if lab.results else ''} mode, {words.plural(repetitions, 'repetition')}"


def day(time: str) -> str:
    """An ISO time as people write it: 21 November 2026, 10:20 UTC."""
    when = datetime.fromisoformat(time)
    return f"{when.day} {when:%B %Y, %H:%M} UTC"


def runs(labs: Sequence[Lab]) -> Table:
    """When and how each lab was measured, and how much equal calculations differed meanwhile."""
    rows = []
    for lab in labs:
        if results := lab.results:
            rejected = sum(bool(cell.problem) for cell in lab.cells)
            took = _took(results.started, results.finished) if results.finished else "not finished"
            cells = f"{len(lab.cells)}" + (f", {rejected} rejected" if rejected else "")
            spread = f"{words.number(results.noise['calibration_spread_percent'])} %"
            rows.append([lab.title, mode(lab), day(results.started), took, cells, spread])
    return Table(
        "The runs", ["lab", "mode", "started", "took", "cells", "calibration spread"], rows, labels=3
    )


def _took(started: str, finished: str) -> str:
    seconds = (datetime.fromisoformat(finished) - datetime.fromisoformat(started)).total_seconds()
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"


def versions(labs: Sequence[Lab]) -> Table:
    """The programs of each lab, and the first digits of its files' hashes: equal digits, equal files."""
    rows = [
        [
            lab.title,
            ", ".join(f"{name} {version}" for name, version in lab.results.versions.items()),
            ", ".join(f"{name} {digest[:8]}" for name, digest in lab.results.configuration.items()),
        ]
        for lab in labs
        if lab.results
    ]
    return Table("Versions and configuration", ["lab", "versions", "files (SHA-256)"], rows, labels=3)
