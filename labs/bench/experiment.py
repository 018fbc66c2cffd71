"""The experiment of a lab: labs/NAME/lab.toml, expanded into cells. labs/README.md explains the format."""

import itertools
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Scalar = str | int | float | bool
Key = Mapping[str, Scalar]
Table = Mapping[str, Any]
NO_KEYS = {"quick", "driver", "primary", "settings"}  # entries of a block of cells that are not keys


@dataclass(frozen=True)
class Cell:
    """One thing to measure: its name, its driver and settings, and the figure that must be measured."""

    driver: str
    primary: str
    key: Key
    settings: Table


@dataclass(frozen=True)
class Experiment:
    """A lab in one mode, "quick" or "full". `baseline`: the values by which the baseline's key differs.

    `exhibits` and `one_core` are for the report.
    """

    title: str
    driver: str
    services: Sequence[str]
    repetitions: int
    primary: str
    cells: Sequence[Cell]
    baseline: Key = field(default_factory=dict)
    settings: Table = field(default_factory=dict)
    warm_up: Table = field(default_factory=dict)
    prepare: Sequence[str] = ()
    prepare_in: str = "backend"
    versions: Mapping[str, Sequence[str]] = field(default_factory=dict)
    one_core: Mapping[str, str] = field(default_factory=dict)
    exhibits: Sequence[Table] = ({},)


def load(folder: Path, mode: str) -> Experiment:
    """Read a folder's lab.toml. Raise ValueError or TypeError, which name the mistake, or OSError."""
    document = choose(tomllib.loads((folder / "lab.toml").read_text()), mode)
    blocks = document.pop("cells")
    # A table with the name of a key, such as [topology], gives the settings for its values.
    names = {name for block in blocks for name in block.keys() - NO_KEYS}
    meanings = {name: document.pop(name) for name in names if name in document}
    common = document.get("settings", {})
    cells = [
        Cell(
            driver=block.get("driver", document["driver"]),
            primary=block.get("primary", document["primary"]),
            key=key,
            settings={**common, **meaning(key, meanings), **block.get("settings", {})},
        )
        for block in blocks
        for key in product(block, mode)
    ]
    return Experiment(cells=cells, **document)  # an unknown name raises a TypeError


def choose(value: Any, mode: str) -> Any:
    """Replace every table of the form {quick = ..., full = ...}, at any depth, with the mode's value."""
    if isinstance(value, Mapping):
        if set(value) == {"quick", "full"}:
            return choose(value[mode], mode)
        return {key: choose(inner, mode) for key, inner in value.items()}
    return [choose(inner, mode) for inner in value] if isinstance(value, list) else value


def product(block: Table, mode: str) -> Iterator[Key]:
    """Yield every combination of a block's lists; the last key changes fastest. `quick` narrows the lists."""
    lists = {key: values for key, values in block.items() if key not in NO_KEYS}
    if mode == "quick":
        lists |= block.get("quick", {})
    for values in itertools.product(*lists.values()):
        yield dict(zip(lists, values, strict=True))


def meaning(key: Key, meanings: Mapping[str, Table]) -> Table:
    """Return the settings of a cell's key: for each name the entry of its table, or the value without one."""
    settings: dict[str, Any] = {}
    for name, value in key.items():
        settings |= meanings[name][str(value)] if name in meanings else {name: value}
    return settings
