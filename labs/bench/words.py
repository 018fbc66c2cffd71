"""Numbers, keys and metrics in words, for the terminal and the tables."""

from collections.abc import Iterable, Mapping
from typing import TypeGuard

from labs.bench.experiment import Scalar

NOTHING = "\N{EN DASH}"  # in a table: no figure
TIMES = "\N{MULTIPLICATION SIGN}"
MINUS = "\N{MINUS SIGN}"

_KEYS = {
    "addresses": "{} addresses",
    "clients": "{} clients",
    "connections": "{} connections",
    "rate": "{}/s",
    "load": "{} % load",
    "joins": "{} joins",
    "kilobytes_per_second": "{} kB/s",
    "megabits": "{} Mbit/s link",
    "round_trip": "{} ms round trip",
}
_SUFFIXES = {"_per_second": "/s", "milliseconds": "ms", "_percent": " %"}
_ACRONYMS = {"cpu": "CPU", "keepalive": "keep-alive"}


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value is a number; True and False are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def number(value: float) -> str:
    """A rounded number: 9,029 · 13.5 · 0.46."""
    size = abs(value)
    if size >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.1f}" if size >= 10 else f"{value:.2f}" if size >= 0.1 else f"{value:.2g}"


def factor(value: float | None) -> str:
    """A ratio, with the multiplication sign."""
    if value is None:
        return NOTHING
    return (number(value) if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}") + TIMES


def measured(metric: str, value: Scalar | None) -> str:
    """The value of a metric without its unit, which `metric` has; many bytes are scaled."""
    if value is None:
        return NOTHING
    if not is_number(value):
        return str(value)
    if "bytes" in metric.split("_") and value >= 1e4:
        return f"{value / 1e6:,.1f} MB" if value >= 1e6 else f"{value / 1e3:,.1f} kB"
    return number(value)


def metric(name: str) -> str:
    """requests_per_second -> requests/s; cpu_percent.backend -> CPU of backend, %."""
    name, _, service = name.partition(".")
    of = f" of {service}" if service else ""
    for suffix, unit in _SUFFIXES.items():
        if name.endswith(suffix):
            words = spaced(name.removesuffix(suffix).rstrip("_")) + of
            return f"{words}{unit}" if unit == "/s" else f"{words}, {unit.strip()}".removeprefix(", ")
    return spaced(name) + of


def spaced(name: str) -> str:
    """A name of the results with spaces and acronyms: cpu_percent -> CPU percent."""
    return " ".join(_ACRONYMS.get(word, word) for word in name.split("_"))


def part(name: str, value: Scalar) -> str:
    """One part of a key: clients=25 -> 25 clients; keepalive=False -> no keep-alive."""
    if isinstance(value, bool):
        return spaced(name) if value else f"no {spaced(name)}"
    if is_number(value):
        text = _KEYS.get(name, spaced(name) + " {}").format(number(value))
        return text.removesuffix("s") if text.startswith("1 ") else text
    return str(value)


def key(key: Mapping[str, Scalar], leave_out: Iterable[str] = ()) -> str:
    """A key in words: small · 25 clients · no keep-alive."""
    return " · ".join(part(name, value) for name, value in key.items() if name not in leave_out)


def reason(problem: str | None) -> str:
    """Why a cell was rejected, in one line without control characters."""
    return "".join(filter(str.isprintable, " ".join((problem or "").split())))


def plural(count: int, noun: str) -> str:
    """1 cell, 2 cells."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
