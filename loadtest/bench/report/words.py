"""Numbers, keys and metrics in words: one place, so that plots, tables and sentences say the same."""

from collections.abc import Iterable

from bench.experiment import Scalar
from bench.report.reading import Key, is_number

NOTHING = "\N{EN DASH}"  # stands in a table where there is nothing to say
TIMES = "\N{MULTIPLICATION SIGN}"
MINUS = "\N{MINUS SIGN}"
REST = "everything else"  # what the machine computes beside the services

_KEYS = {
    "clients": "{} clients",
    "rate": "{}/s",
    "rush": "{} % rush",
    "connections": "{} connections",
}
_SUFFIXES = {
    "_per_second": "/s",
    "milliseconds": "ms",
    "_percent": " %",
}
_ACRONYMS = {"cpu": "CPU", "keepalive": "keep-alive", "p50": "p50", "p95": "p95", "p99": "p99"}


def number(value: float) -> str:
    """Three figures, which is more than short runs deserve: 9,029 · 13.5 · 0.46."""
    size = abs(value)
    if size >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.1f}" if size >= 10 else f"{value:.2f}" if size >= 0.1 else f"{value:.2g}"


def factor(value: float | None) -> str:
    """A ratio: 13.5 and the sign for times."""
    if value is None:
        return NOTHING
    return (number(value) if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}") + TIMES


def measured(metric: str, value: Scalar | None) -> str:
    """A value of a metric without its unit, which stands over it or beside it; many bytes are scaled."""
    if value is None:
        return NOTHING
    if not is_number(value):
        return str(value)
    if _in_bytes(metric) and value >= 1e6:
        return f"{value / 1e6:,.1f} MB"
    if _in_bytes(metric) and value >= 1e4:
        return f"{value / 1e3:,.1f} kB"
    return number(value)


def metric(name: str) -> str:
    """requests_per_second -> requests/s; cpu_percent.backend -> CPU of backend, %."""
    name, _, service = name.partition(".")
    for suffix, unit in _SUFFIXES.items():
        if name.endswith(suffix):
            name = name.removesuffix(suffix).rstrip("_")
            words = spaced(name) + (f" of {service}" if service else "")
            return f"{words}{unit}" if unit == "/s" else f"{words}, {unit.strip()}".removeprefix(", ")
    return spaced(name) + (f" of {service}" if service else "")


def spaced(name: str) -> str:
    """A name of the results as it is spoken."""
    return " ".join(_ACRONYMS.get(word, word) for word in name.split("_"))


def part(name: str, value: Scalar) -> str:
    """One part of a key: clients=25 -> 25 clients; keepalive=False -> no keep-alive."""
    if isinstance(value, bool):
        return spaced(name) if value else f"no {spaced(name)}"
    if is_number(value):
        pattern = _KEYS.get(name, spaced(name) + " {}")
        text = pattern.format(number(value))
        return text.removesuffix("s") if name in ("clients", "connections") and value == 1 else text
    return str(value)


def key(key: Key, leave_out: Iterable[str] = ()) -> str:
    """A key in words: small · 25 clients · no keep-alive."""
    return " · ".join(part(name, value) for name, value in key.items() if name not in leave_out)


def reason(problem: str | None) -> str:
    """Why a cell was refused, in one line; without control characters, for which XML has no place."""
    return "".join(filter(str.isprintable, " ".join((problem or "").split())))


def plural(count: int, noun: str) -> str:
    """1 cell, 2 cells."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _in_bytes(metric: str) -> bool:
    return "bytes" in metric.split("_")
