"""The tables of a lab, in Markdown: its exhibits, and the article's figures beside the lab's."""

import statistics
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from labs.bench.experiment import Experiment, Key, Table, load

Cell = Mapping[str, Any]  # of the results: key, samples, median, spread, problem (labs/README.md)
NOTHING = "\N{EN DASH}"
TIMES = "\N{MULTIPLICATION SIGN}"
KEYS = {
    "addresses": "{} addresses",
    "clients": "{} clients",
    "connections": "{} connections",
    "joins": "{} joins",
    "kilobytes_per_second": "{} kB/s",
    "load": "{} % load",
    "megabits": "{} Mbit/s link",
    "rate": "{}/s",
    "round_trip": "{} ms round trip",
}
UNITS = {"_per_second": "/s", "milliseconds": ", ms", "microseconds": ", µs", "percent": ", %"}
WORDS = {"cpu": "CPU", "keepalive": "keep-alive"}
CPU = "cpu_percent."


def write(results: Mapping[str, Any], folder: Path) -> str:
    """Return all tables. Raise ValueError or KeyError, which name a mistake in lab.toml."""
    lab, cells = load(folder, results["mode"]), results["cells"]
    published = folder / "published.toml"
    articles = tomllib.loads(published.read_text())["tables"] if published.exists() else []
    tables = [table for wanted in lab.exhibits for table in exhibit(wanted, lab, cells)]
    tables += [beside(article, cells) for article in articles]
    rejected = [f"- {in_words(cell['key'])}: {cell['problem']}" for cell in cells if cell["problem"]]
    if rejected:
        tables.append("## Rejected\n\n" + "\n".join(rejected))
    at_least = [in_words(cell["key"]) for cell in cells if cell["median"].get("generator_was_the_limit")]
    if at_least:
        tables.append(f'Read "at least" where the generator itself was the limit: {"; ".join(at_least)}.')
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    return "\n\n".join(
        [
            f"# Results: {lab.title}",
            f"Written by `make lab LAB={results['lab']} PUBLISH=1`; [README.md](README.md) says how to read "
            "them.",
            f"Measured {results['measured']}, {results['mode']} mode, on {results['machine']}; {versions}. "
            f"The slowest calibration took {slowest(cells):.0f} % longer than the median.",
            *tables,
            "",
        ]
    )


def slowest(cells: Sequence[Cell]) -> float:
    """Return by how many per cent the slowest calibration exceeded the median: how busy the machine was."""
    found = [sample["calibration_milliseconds"] for cell in cells for sample in cell["samples"]]
    return (max(found) / statistics.median(found) - 1) * 100 if found else 0.0


def exhibit(wanted: Table, lab: Experiment, cells: Sequence[Cell]) -> Iterator[str]:
    """Yield the tables of one exhibit; none if this mode has measured nothing for it."""
    series, over, kind = wanted.get("series", ()), wanted.get("over"), wanted.get("kind")
    needed = {*series, *([over] if over else [])}
    shown = [
        cell
        for cell in cells
        if needed <= cell["key"].keys() and fits(cell["key"], wanted.get("at", {})) and measured(cell)
    ]
    if not shown or (over and len({cell["key"][over] for cell in shown}) < 2):
        return  # in quick mode there may be only one value
    if kind:
        for rest, group in groups(shown, series).items():
            named = {in_words(cell["key"], series): cell for cell in group}
            yield limits(rest, named, lab) if kind == "limits" else steps(rest, named, lab.primary)
        return
    known = dict.fromkeys(name for cell in shown for name in cell["median"])
    names = [name for name in wanted.get("metrics", [lab.primary]) if name in known] if series else [*known]
    if not series or (len(names) > 1 and len(groups(shown, series)) == 1):
        rows = [[in_words(cell["key"]), *(figure(cell, name) for name in names)] for cell in shown]
        yield table(wanted.get("title", "All figures"), ["", *map(metric, names)], rows)
        return
    for name in names:
        yield across(wanted["title"], shown, series, name, lab)


def measured(cell: Cell) -> bool:
    """Return whether a cell has figures, or the reason why it has none."""
    return bool(cell["median"] or cell["problem"])


def fits(key: Key, wanted: Table) -> bool:
    """Return whether a key has these values: each is a value, or a list of allowed values."""
    return all(
        key.get(name) in (value if isinstance(value, list) else [value]) for name, value in wanted.items()
    )


def groups(cells: Iterable[Cell], series: Sequence[str]) -> Mapping[str, list[Cell]]:
    """Return the cells, grouped by the parts of their keys that are not in the series, as text."""
    found: dict[str, list[Cell]] = {}
    for cell in cells:
        found.setdefault(others(cell, series), []).append(cell)
    return found


def others(cell: Cell, series: Sequence[str]) -> str:
    """Return the parts of a key that are not in the series, as text."""
    return in_words(cell["key"], [name for name in cell["key"] if name not in series])


def across(title: str, cells: Sequence[Cell], series: Sequence[str], name: str, lab: Experiment) -> str:
    """Return a table with a column for each series, and a row for each combination of the other keys."""
    columns = dict.fromkeys(in_words(cell["key"], series) for cell in cells)
    rows = []
    for rest, group in groups(cells, series).items():
        row = dict.fromkeys(columns, NOTHING)
        for cell in group:
            beside = factor(cell, cells, lab) if name == lab.primary else ""
            row[in_words(cell["key"], series)] = figure(cell, name) + beside + spread(cell, name)
        rows.append([rest, *row.values()])
    return table(title if title.endswith(metric(name)) else f"{title}: {metric(name)}", ["", *columns], rows)


def factor(cell: Cell, cells: Sequence[Cell], lab: Experiment) -> str:
    """Return a cell's primary figure divided by that of the cell that differs in `baseline`, as text."""
    reference = cell["key"] | {name: value for name, value in lab.baseline.items() if name in cell["key"]}
    base = next((one["median"].get(lab.primary) for one in cells if one["key"] == reference), None)
    mine = cell["median"].get(lab.primary)
    if reference == cell["key"] or not base or mine is None:
        return ""
    return f" ({number(mine / base)}{TIMES})"


def spread(cell: Cell, name: str) -> str:
    """Return the lowest and the highest sample as text; empty if they are equal."""
    found = cell["spread"].get(name)
    return f" [{number(found[0])} to {number(found[1])}]" if found and found[0] != found[1] else ""


def steps(rest: str, named: Mapping[str, Cell], primary: str) -> str:
    """Return a ladder: each step, its spread, and its gain over the step before."""
    rows, before = [], None
    for name, cell in named.items():
        value = cell["median"].get(primary)
        gain = f"{(value / before - 1) * 100:+.0f} %" if before and value is not None else NOTHING
        rows.append([name, figure(cell, primary) + spread(cell, primary), gain])
        before = value or before
    return table(rest or "Step by step", ["", metric(primary), "against the step before"], rows)


def limits(rest: str, named: Mapping[str, Cell], lab: Experiment) -> str:
    """Return the CPU time of a request by service, and the resource that is nearest to full."""
    one_core = {"generator_cpu_percent": "the generator's one core", **lab.one_core}
    one_core["system_cpu_percent"] = "all cores"
    services = [name for name in lab.services if any(spent(cell, name) for cell in named.values())]
    rows = []
    for name, cell in named.items():
        median = cell["median"]
        used = {words: median[metric] for metric, words in one_core.items() if metric in median}
        full = max(used, key=lambda words: used[words]) if used else NOTHING
        each = [spent(cell, service) for service in services]
        rate = figure(cell, "requests_per_second")
        share = f"{min(used[full], 100):.0f} %" if used else NOTHING
        sums = [number(round(time)) for time in (*each, sum(each))] if services else []
        rows.append([name, *sums, rate, share, full])
    title = "CPU of a request in µs, and what is full" if services else "The fullest resource"
    head = ["", *services, *(["sum"] if services else []), "requests/s", "used", "what is full"]
    return table(" · ".join(filter(None, [title, rest])), head, rows)


def spent(cell: Cell, service: str) -> float:
    """Return the microseconds of CPU that a service spends on a request; 0 if no requests are counted."""
    rate = cell["median"].get("requests_per_second")
    return cell["median"].get(CPU + service, 0.0) * 1e4 / rate if rate else 0.0


def beside(article: Table, cells: Sequence[Cell]) -> str:
    """Return a table of the article's figures, and the lab's figures of the same cells."""
    keys, figures = article["keys"], article["figures"]
    rows = []
    for row in article["rows"]:
        key = dict(zip(keys, row, strict=False))
        ours = next((cell for cell in cells if cell["key"] == key), None)
        texts = [in_words(key)]
        for name, value in zip(figures, row[len(keys) :], strict=True):
            texts += [number(value), figure(ours, name)]
        rows.append(texts)
    head = [""]
    for name in figures:
        head += [f"{metric(name)}: article", "here"]
    return table("The article beside this machine", head, rows)


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown, with a heading."""
    lines = [head, ["---", *["--:"] * (len(head) - 1)], *rows]
    return f"## {title}\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines)


def figure(cell: Cell | None, name: str) -> str:
    """Return a cell's figure, or the reason why there is none."""
    if cell is None:
        return NOTHING
    if cell["problem"]:
        return "rejected"
    value = cell["median"].get(name, "")
    if "bytes" in name.split("_") and isinstance(value, int | float) and value >= 1e4:
        return f"{value / 1e6:,.1f} MB" if value >= 1e6 else f"{value / 1e3:,.1f} kB"
    return number(value)


def number(value: Any) -> str:
    """Return a number, rounded: 9,029 · 13.5 · 0.46; return a text unchanged."""
    if not isinstance(value, int | float):
        return str(value) or NOTHING
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


def metric(name: str) -> str:
    """Return a metric's title: requests_per_second -> requests/s, cpu_percent.nginx -> CPU of nginx, %."""
    name, _, service = name.partition(".")
    suffix = next((one for one in UNITS if name.endswith(one)), "")
    words = spaced(name.removesuffix(suffix).rstrip("_")) + (f" of {service}" if service else "")
    return (words + UNITS.get(suffix, "")).removeprefix(", ")


def spaced(name: str) -> str:
    """Return a name as words: cpu_percent -> CPU percent."""
    return " ".join(WORDS.get(word, word) for word in name.split("_"))


def in_words(key: Key, only: Iterable[str] | None = None) -> str:
    """Return a key as text: small · 25 clients · no keep-alive. `only`: these parts, in the key's order."""
    wanted = set(key if only is None else only)
    return " · ".join(part(name, value) for name, value in key.items() if name in wanted)


def part(name: str, value: Any) -> str:
    """Return one part of a key as text."""
    if isinstance(value, bool):
        return spaced(name) if value else f"no {spaced(name)}"
    if isinstance(value, int | float):
        text = KEYS.get(name, f"{spaced(name)} {{}}").format(number(value))
        return text.removesuffix("s") if text.startswith("1 ") else text
    return str(value)
