"""What the report is made from: each lab's results, and the published figures that they are held against."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeGuard

from bench.experiment import Scalar
from bench.results import Measured, Results

Key = Mapping[str, Scalar]

# The order of the page; a lab that is not named here comes behind these.
ORDER = ("upstage", "opendata", "bakeoff", "static", "ladder", "show")


@dataclass(frozen=True)
class Published:
    """What an article gives for a cell. A figure may be a text: "<1"."""

    key: Key
    figures: Mapping[str, Scalar]


@dataclass(frozen=True)
class Lab:
    """A lab as it was found: `results` is None if it has not been run, `problem` says what cannot be read.

    `assumptions` are figures that cannot be measured: prices, and what people do.
    """

    name: str
    title: str
    results: Results | None = None
    published: tuple[Published, ...] = ()
    problem: str = ""
    assumptions: Mapping[str, Any] = field(default_factory=dict)

    @property
    def cells(self) -> list[Measured]:
        """Every cell, the refused ones and those that a run has not come to among them."""
        return self.results.cells if self.results else []

    @property
    def primary(self) -> str:
        """The metric that factors speak of."""
        return self.results.primary if self.results else ""

    @property
    def baseline(self) -> Key:
        """What tells the cell that others are compared with; may be empty."""
        return self.results.baseline if self.results else {}

    def cell(self, key: Key) -> Measured | None:
        """The cell with exactly this key."""
        return next((cell for cell in self.cells if cell.key == key), None)

    def factor(self, cell: Measured) -> float | None:
        """A cell's primary metric divided by its baseline's; None for the baseline itself."""
        return None if not self.results or self.is_base(cell.key) else self.results.factor(cell)

    def article(self, key: Key) -> Published | None:
        """What was published for a cell."""
        return next((entry for entry in self.published if entry.key == key), None)

    def published_factor(self, entry: Published) -> float | None:
        """The same ratio among the published figures."""
        base = self.article({**entry.key, **self.baseline})
        if base is None or base is entry:
            return None
        value, under = entry.figures.get(self.primary), base.figures.get(self.primary)
        return value / under if is_number(value) and is_number(under) and under else None

    def is_base(self, key: Key) -> bool:
        """Whether others are compared with this one."""
        return {**key, **self.baseline} == key


def is_number(value: object) -> TypeGuard[float]:
    """Whether one can count with it; with True and False one cannot."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def read(results: Path, labs: Path) -> list[Lab]:
    """Every lab that has a folder or results, in the order of the page."""
    names = {path.parent.name for path in labs.glob("*/lab.toml")} | {
        file.stem for file in results.glob("*.json")
    }
    return [_lab(name, results / f"{name}.json", labs / name) for name in sorted(names, key=_place)]


def _place(name: str) -> tuple[int, str]:
    return ORDER.index(name) if name in ORDER else len(ORDER), name


def _lab(name: str, file: Path, folder: Path) -> Lab:
    """One lab. What cannot be read is said on the page: one bad file does not cost the others."""
    title, problem = name, ""
    published: tuple[Published, ...] = ()
    assumptions: Mapping[str, Any] = {}
    try:
        title = str(_toml(folder / "lab.toml").get("title", name))
        published = tuple(
            Published(entry["key"], {name: value for name, value in entry.items() if name != "key"})
            for entry in _toml(folder / "published.toml").get("cell", ())
        )
        assumptions = _toml(folder / "assumptions.toml")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        problem = f"labs/{name} cannot be read: {error!r}"
    results = Results.read(file)
    if results is None and file.exists():
        problem = f"{file.name} holds no results of a run."
    return Lab(name, results.title if results else title, results, published, problem, assumptions)


def _toml(file: Path) -> Mapping[str, Any]:
    return tomllib.loads(file.read_text("utf-8")) if file.exists() else {}
