"""The experiment of a lab: labs/NAME/lab.toml, expanded into cells. labs/README.md explains the format."""

import itertools
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

Scalar = str | int | float | bool
Table = Mapping[str, Any]

MODES = ("quick", "full")
REPORT = {"one_core", "exhibits"}  # read by report/reading.py
NO_KEYS = {"quick", "driver", "primary", "settings"}  # in a block of cells


@dataclass(frozen=True)
class Cell:
    """One thing to measure: `key` identifies it, `settings` are the driver's arguments.

    `primary` is the metric that it must have.
    """

    driver: str
    primary: str
    key: Mapping[str, Scalar]
    settings: Table

    def __str__(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in self.key.items())


@dataclass(frozen=True)
class Experiment:
    """A lab in one mode.

    `extras`: folders of extras/ whose services it has, too; `warm_up` replaces settings in the measurement
    before the first that counts; `versions` has a command for each of the lab's own services; `baseline` are
    the parts of the key in which the cell to compare with differs.
    """

    name: str
    mode: str
    title: str
    services: Sequence[str]
    repetitions: int
    primary: str
    cells: Sequence[Cell]
    extras: Sequence[str] = ()
    baseline: Mapping[str, Scalar] = field(default_factory=dict)
    warm_up: Table = field(default_factory=dict)
    prepare: Sequence[str] = ()
    prepare_in: str = ""
    versions: Mapping[str, Sequence[str]] = field(default_factory=dict)


OWN = {each.name for each in fields(Experiment)} - {"name", "mode"}  # the literal text of lab.toml
REQUIRED = {"title", "driver", "services", "repetitions", "primary", "cells"}
RESERVED = OWN | REPORT | {"driver", "settings"}


def load(folder: Path, mode: str) -> Experiment:
    """Read the lab.toml of a folder. Raise ValueError, which describes the mistake, or OSError."""
    try:
        return expand(folder.name, tomllib.loads((folder / "lab.toml").read_text()), mode)
    except ValueError as error:
        raise ValueError(f"{folder / 'lab.toml'}: {error}") from None


def expand(lab: str, document: Table, mode: str) -> Experiment:
    """Expand a lab.toml in the mode "quick" or "full". ValueError says what is wrong with it."""
    document = choose(document, mode)
    blocks: list[Table] = document.get("cells", [])
    tables = {plural(key) for block in blocks for key in block.keys() - NO_KEYS}
    if missing := REQUIRED - document.keys():
        raise ValueError(f"{', '.join(sorted(missing))}: missing")
    if unknown := document.keys() - RESERVED - tables:
        raise ValueError(f"{', '.join(sorted(unknown))}: unknown, and no cell has such a key")
    if taken := tables & RESERVED:
        raise ValueError(f"a cell's key cannot be the singular of {', '.join(sorted(taken))}")
    if ("prepare" in document) != ("prepare_in" in document):
        raise ValueError("prepare and prepare_in need each other")
    if "generator" not in document["services"]:
        raise ValueError("services: the generator is missing")
    cells = [
        Cell(
            block.get("driver", document["driver"]),
            block.get("primary", document["primary"]),
            key,
            {**settings(document, key), **block.get("settings", {})},
        )
        for block in blocks
        for key in product(block, mode)
    ]
    if not cells:
        raise ValueError(f"cells: none in the {mode} mode")
    for number, one in enumerate(cells):
        if one.key in [other.key for other in cells[:number]]:
            raise ValueError(f"the cell {one} is listed twice")
    for name, value in document.get("baseline", {}).items():
        if value not in [one.key.get(name) for one in cells]:
            raise ValueError(f"baseline: no cell has {name} = {value}")
    said = {name: document[name] for name in OWN & document.keys()}
    return Experiment(name=lab, mode=mode, **{**said, "cells": cells})


def choose(value: Any, mode: str) -> Any:
    """Replace every table of the form {quick = ..., full = ...}, at any depth, with the mode's value."""
    if isinstance(value, Mapping):
        if set(value) == set(MODES):
            return choose(value[mode], mode)
        return {key: choose(inner, mode) for key, inner in value.items()}
    if isinstance(value, list):
        return [choose(inner, mode) for inner in value]
    return value


def product(block: Table, mode: str) -> Iterator[Mapping[str, Scalar]]:
    """Every combination of a block's lists, the last key changing fastest. `quick` narrows them."""
    lists: dict[str, list[Scalar]] = {key: values for key, values in block.items() if key not in NO_KEYS}
    if wrong := [key for key, values in lists.items() if not isinstance(values, list)]:
        raise ValueError(f"{', '.join(wrong)}: a cell's values are lists, even of one")
    for key, kept in block.get("quick", {}).items():
        if not set(kept) <= set(lists.get(key, [])):
            raise ValueError(f"quick: {key} = {kept} is not part of the full mode")
        if mode == "quick":
            lists[key] = kept
    for values in itertools.product(*lists.values()):
        yield dict(zip(lists, values, strict=True))


def settings(document: Table, key: Mapping[str, Scalar]) -> Table:
    """The settings of the cell with this key: a value's table, [KEYs.VALUE], adds its settings."""
    merged = dict(document.get("settings", {}))
    for name, value in key.items():
        table = document.get(plural(name))
        if table is None:
            merged[name] = value
        elif str(value) not in table:
            raise ValueError(f"[{plural(name)}.{value}] is missing")
        else:
            merged |= table[str(value)]
    return merged


def plural(key: str) -> str:
    """The name of a key's tables: file -> files, topology -> topologies."""
    return f"{key.removesuffix('y')}ies" if key.endswith("y") else f"{key}s"
