"""The input of the report: a lab's results, its published figures, and what its lab.toml declares."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from labs.bench.experiment import Scalar
from labs.bench.results import Measured, Results
from labs.bench.words import is_number

Key = Mapping[str, Scalar]
KINDS = ("bars", "steps", "limits")


@dataclass(frozen=True)
class Published:
    """An article's figures for a cell. A figure may be a text: "<1"."""

    key: Key
    figures: Mapping[str, Scalar]


@dataclass(frozen=True)
class Wanted:
    """An exhibit as lab.toml declares it; labs/README.md explains the fields."""

    series: Sequence[str]
    title: str = ""
    metrics: Sequence[str] = ()
    at: Mapping[str, Any] = field(default_factory=dict)  # a part of the key -> its value, or a list of them
    over: str = ""
    kind: str = "bars"
    helped: Sequence[str] = ()  # of a ladder: the steps that need changes of the application

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"exhibit {self.title!r}: kind is one of {', '.join(KINDS)}")

    def shows(self, key: Key) -> bool:
        """Whether a cell with this key belongs to the exhibit."""
        needed = {*self.series, *([self.over] if self.over else [])}
        return needed <= key.keys() and all(
            name in key and key[name] in (value if isinstance(value, list) else [value])
            for name, value in self.at.items()
        )

    @property
    def fixed(self) -> set[str]:
        """The parts of the key that are the same in all its cells."""
        return {name for name, value in self.at.items() if not isinstance(value, list)}


@dataclass(frozen=True)
class Lab:
    """A lab that was measured, at least in part.

    `one_core`: metric of a program that can fill only one core -> that core, in words.
    """

    results: Results
    title: str
    published: Sequence[Published] = ()
    exhibits: Sequence[Wanted] = ()
    one_core: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.results.lab

    @property
    def cells(self) -> list[Measured]:
        """Every cell, rejected and unmeasured ones included."""
        return self.results.cells

    @property
    def primary(self) -> str:
        """The metric that factors are of."""
        return self.results.primary

    def cell(self, key: Key) -> Measured | None:
        """The cell with exactly this key."""
        return next((cell for cell in self.cells if cell.key == key), None)

    def factor(self, cell: Measured) -> float | None:
        """A cell's primary metric divided by its baseline's; None for the baseline itself."""
        return None if self.results.reference(cell.key) == cell.key else self.results.factor(cell)

    def article(self, key: Key) -> Published | None:
        """The published figures of a cell."""
        return next((entry for entry in self.published if entry.key == key), None)

    def published_factor(self, entry: Published) -> float | None:
        """The same ratio among the published figures."""
        base = self.article(self.results.reference(entry.key))
        if base is None or base is entry:
            return None
        value, under = entry.figures.get(self.primary), base.figures.get(self.primary)
        return value / under if is_number(value) and is_number(under) and under else None


def read(results: Results, folder: Path) -> Lab:
    """A lab's results and its folder. Raise ValueError, which describes the mistake in a file."""
    try:
        document = tomllib.loads((folder / "lab.toml").read_text("utf-8"))
        return Lab(
            results,
            title=document["title"],
            published=list(published(folder)),
            exhibits=[Wanted(**each) for each in document.get("exhibits", ())],
            one_core=document.get("one_core", {}),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"labs/{folder.name} cannot be reported: {error!r}") from None


def published(folder: Path) -> Iterator[Published]:
    """Each row of each table of published.toml: the values of `keys`, then `figures`; "" is not given."""
    file = folder / "published.toml"
    document = tomllib.loads(file.read_text("utf-8")) if file.exists() else {}
    for table in document.get("tables", ()):
        names = [*table["keys"], *table["figures"]]
        for row in table["rows"]:
            cell = dict(zip(names, row, strict=True))
            key = {name: cell.pop(name) for name in table["keys"]}
            yield Published(key, {name: figure for name, figure in cell.items() if figure != ""})
