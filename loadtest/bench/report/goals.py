"""The goals of the measure ("Must show"), each computed from the cells."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.report import words
from bench.report.reading import Key, Lab, is_number
from bench.results import Measured

MET, MISSED, UNKNOWN, STATED = "met", "not met", "not measured", "stated"
BACKEND = "cpu_percent.backend"
PER_CONNECTION = "bytes_per_connection"


@dataclass(frozen=True)
class Goal:
    """A line of the table. What has a `headline` stands in large letters at the top of the page."""

    measure: str
    goal: str
    measured: str
    verdict: str
    headline: str = ""


class Missing(Exception):
    """A figure that a goal needs is not there; the text says why."""


def goals(labs: Sequence[Lab]) -> list[Goal]:
    """Every goal, in the order of the issue, whatever was measured."""
    house = {lab.name: lab for lab in labs}

    def lab(name: str) -> Lab:
        return house.get(name, Lab(name, name))

    return [
        *_faster(lab("upstage")),
        _backend(lab("upstage")),
        _chat(lab("show")),
        _opendata(lab("opendata")),
        _held(lab("static")),
        _classic(lab("upstage")),
    ]


def _faster(lab: Lab) -> Iterator[Goal]:
    """The default host against UpStage alone, and against the faster of those that might be as fast."""
    cells = [(file, alive) for file in ("small", "big") for alive in (False, True)]
    for (file, alive), least in zip(cells, (4, 12, 2, 4), strict=True):
        key: Key = {"file": file, "keepalive": alive, "clients": 25}
        what = f"default ÷ direct, {_said(key)}"
        headline = f"{file} file, keep-alive: default against UpStage alone" if alive else ""
        try:
            ratio = _requests(lab, key, "default") / _requests(lab, key, "direct")
            yield _least(what, least, ratio, headline=headline)
        except Missing as missing:
            yield Goal(what, f"≥ {least}", str(missing), UNKNOWN)
    for file, alive in cells:
        key = {"file": file, "keepalive": alive, "clients": 25}
        what = f"default ÷ the faster of static and varnish, {_said(key)}"
        try:
            fastest, way = max((_requests(lab, key, way), way) for way in ("static", "varnish"))
            yield _least(what, 0.9, _requests(lab, key, "default") / fastest, f" (of {way})")
        except Missing as missing:
            yield Goal(what, "≥ 0.9", str(missing), UNKNOWN)


def _backend(lab: Lab) -> Goal:
    what, goal = "CPU of the backend while the default host serves hits, its highest cell", "< 1 %"
    cells = [cell for cell in lab.cells if cell.key.get("way") == "default"]
    found = [cell.median[BACKEND] for cell in cells if BACKEND in cell.median]
    if not found:
        return Goal(what, goal, _why(cells), UNKNOWN)
    return Goal(what, goal, f"{words.number(max(found))} %", MET if max(found) < 1 else MISSED)


def _chat(lab: Lab) -> Goal:
    """Each way is held against its own idle stage: the other's would hide what the way itself costs."""
    what, goal = "p99 of the chat, 60 % rush ÷ idle stage, default host", "≤ 1.5"
    try:
        ratio = _rush(lab, "default")
    except Missing as missing:
        return Goal(what, goal, str(missing), UNKNOWN)
    try:
        direct = words.factor(_rush(lab, "direct"))
    except Missing as missing:
        direct = str(missing)
    headline = f"chat p99 in the rush against idle; direct {direct}"
    said = f"{words.factor(ratio)} (direct: {direct})"
    return Goal(what, goal, said, MET if ratio <= 1.5 else MISSED, headline)


def _rush(lab: Lab, way: str) -> float:
    metric = "p99_milliseconds"
    return _figure(lab, {"way": way, "rush": 60}, metric) / _figure(lab, {"way": way, "rush": 0}, metric)


def _opendata(lab: Lab) -> Goal:
    what = "opendata page, Varnish ÷ direct, 5 clients (article: 30)"
    key: Key = {"page": "home", "keepalive": False, "clients": 5}
    try:
        ratio = _requests(lab, key, "varnish") / _requests(lab, key, "direct")
    except Missing as missing:
        return Goal(what, "≥ 100", str(missing), UNKNOWN)
    return _least(what, 100, ratio, headline="slow page: Varnish against the application alone")


def _held(lab: Lab) -> Goal:
    what, goal = "10,000 connections held on nginx, 5 kB files asked from all", "0 errors"
    cells = [
        cell
        for cell in lab.cells
        if cell.key.get("connections") == 10_000 and str(cell.key.get("server")).startswith("nginx")
    ]
    held = [cell for cell in cells if PER_CONNECTION in cell.median]
    refused = [cell for cell in cells if cell.problem]
    if not held:
        return Goal(what, goal, _why(cells), MISSED if refused else UNKNOWN)
    said = [f"{words.number(cell.median[PER_CONNECTION])} ({cell.key['server']})" for cell in held]
    text = f"0 errors; bytes per connection: {', '.join(said)}"
    return Goal(what, goal, text + "".join(f"; refused: {cell.key['server']}" for cell in refused), MET)


def _classic(lab: Lab) -> Goal:
    what, goal = "classic ÷ direct, every cell", "as it is; article: 1.36 to 2.58"
    cells = [cell for cell in lab.cells if cell.key.get("way") == "classic"]
    found = [factor for cell in cells if (factor := lab.factor(cell))]
    if not found:
        return Goal(what, goal, _why(cells), UNKNOWN)
    return Goal(what, goal, f"{min(found):.2f} to {max(found):.2f}", STATED)


def _said(key: Key) -> str:
    return words.key({**key, "file": f"{key['file']} file"})


def _least(what: str, least: float, ratio: float, more: str = "", headline: str = "") -> Goal:
    verdict = MET if ratio >= least else MISSED
    return Goal(what, f"≥ {least:g}", words.factor(ratio) + more, verdict, headline)


def _requests(lab: Lab, key: Key, way: str) -> float:
    return _figure(lab, {**key, "way": way}, "requests_per_second")


def _figure(lab: Lab, key: Key, metric: str) -> float:
    """A median; Missing if it is not there or is nothing to divide by."""
    cell = lab.cell(key)
    value = cell.median.get(metric) if cell else None
    if not is_number(value) or value <= 0:
        raise Missing(_why([cell] if cell else []))
    return value


def _why(cells: Sequence[Measured]) -> str:
    """Why there is no figure."""
    refused = [cell for cell in cells if cell.problem]
    if not refused:
        return words.NOTHING
    return f"refused: {words.key(refused[0].key)}: {words.reason(refused[0].problem)}"
