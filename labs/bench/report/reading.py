"""The input of the report: each lab's results, its published figures, and what its lab.toml declares."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.experiment import Scalar
from bench.results import Measured, Results
from bench.words import is_number

Key = Mapping[str, Scalar]
KINDS = ("plots", "steps", "limits")
LIMITS = "How near this machine's limit"


@dataclass(frozen=True)
class Published:
    """An article's figures for a cell. A figure may be a text: "<1"."""

    key: Key
    figures: Mapping[str, Scalar]


@dataclass(frozen=True)
class Headline:
    """A figure for the top of the page: a cell's metric, over that of the cell that differs in `over`."""

    text: str
    cell: Key
    over: Key = field(default_factory=dict)
    metric: str = ""  # the primary one if empty


@dataclass(frozen=True)
class Wanted:
    """An exhibit as lab.toml declares it; labs/README.md explains the fields."""

    title: str
    series: Sequence[str]
    text: str = ""
    metrics: Mapping[str, str] = field(default_factory=dict)  # metric -> caption
    at: Mapping[str, Any] = field(default_factory=dict)  # a part of the key -> its value, or a list of them
    over: str = ""  # plots are lines along this key; bars if it is empty
    kind: str = "plots"
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
    """A lab as it was found: `results` is None if it has not been run, `problem` says what cannot be read.

    `one_core`: metric of a program that can fill only one core -> that core, in words.
    """

    name: str
    title: str
    results: Results | None = None
    published: Sequence[Published] = ()
    headlines: Sequence[Headline] = ()
    exhibits: Sequence[Wanted] = ()
    meanings: Mapping[str, str] = field(default_factory=dict)
    one_core: Mapping[str, str] = field(default_factory=dict)
    order: float = float("inf")
    problem: str = ""

    @property
    def cells(self) -> list[Measured]:
        """Every cell, rejected and unmeasured ones included."""
        return self.results.cells if self.results else []

    @property
    def primary(self) -> str:
        """The metric that factors are of."""
        return self.results.primary if self.results else ""

    @property
    def baseline(self) -> Key:
        """The parts of the key that tell the cell to compare with; may be empty."""
        return self.results.baseline if self.results else {}

    def cell(self, key: Key) -> Measured | None:
        """The cell with exactly this key."""
        return next((cell for cell in self.cells if cell.key == key), None)

    def factor(self, cell: Measured) -> float | None:
        """A cell's primary metric divided by its baseline's; None for the baseline itself."""
        is_baseline = {**cell.key, **self.baseline} == cell.key
        return None if not self.results or is_baseline else self.results.factor(cell)

    def article(self, key: Key) -> Published | None:
        """The published figures of a cell."""
        return next((entry for entry in self.published if entry.key == key), None)

    def published_factor(self, entry: Published) -> float | None:
        """The same ratio among the published figures."""
        base = self.article({**entry.key, **self.baseline})
        if base is None or base is entry:
            return None
        value, under = entry.figures.get(self.primary), base.figures.get(self.primary)
        return value / under if is_number(value) and is_number(under) and under else None


def read(results: Path, labs: Path) -> list[Lab]:
    """Every lab that has a folder or results, in the order that their lab.toml files give."""
    names = {path.parent.name for path in labs.glob("*/lab.toml")} | {
        file.stem for file in results.glob("*.json")
    }
    found = [_lab(name, results / f"{name}.json", labs / name) for name in names]
    return sorted(found, key=lambda lab: (lab.order, lab.name))


def _lab(name: str, file: Path, folder: Path) -> Lab:
    """One lab. The page says what cannot be read: one bad file does not hide the other labs."""
    results = Results.read(file)
    problem = "" if results or not file.exists() else f"{file.name} holds no results of a run."
    declared: dict[str, Any] = {"title": results.title if results else name}
    try:
        document = _toml(folder / "lab.toml")
        declared |= {
            "title": str(document.get("title", declared["title"])),
            "order": document.get("order", float("inf")),
            "meanings": document.get("meanings", {}),
            "one_core": document.get("one_core", {}),
            "headlines": [Headline(**each) for each in document.get("headlines", ())],
            "exhibits": [
                *(Wanted(**each) for each in document.get("exhibits", ())),
                *(Wanted(LIMITS, **each, kind="limits") for each in [document.get("limits")] if each),
            ],
            "published": list(_published(_toml(folder / "published.toml"))),
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        problem = f"labs/{name} cannot be read: {error!r}"
    return Lab(name, results=results, problem=problem, **declared)


def _published(document: Mapping[str, Any]) -> Iterator[Published]:
    """Each row of each table: the values of `keys`, then `figures`; "" is a figure that is not given."""
    for table in document.get("tables", ()):
        names = [*table["keys"], *table["figures"]]
        for row in table["rows"]:
            cell = dict(zip(names, row, strict=True))
            key = {name: cell.pop(name) for name in table["keys"]}
            yield Published(key, {name: figure for name, figure in cell.items() if figure != ""})


def _toml(file: Path) -> Mapping[str, Any]:
    return tomllib.loads(file.read_text("utf-8")) if file.exists() else {}
