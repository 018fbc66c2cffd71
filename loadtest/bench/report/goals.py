"""The goals of the measure ("Must show"), each computed from the cells."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.report import words
from bench.report.profile import profile
from bench.report.reading import Key, Lab
from bench.results import Measured, spread_percent
from bench.runner import NOISY

MET, MISSED, UNKNOWN, STATED = "met", "not met", "not measured", "stated"
BACKEND = "cpu_percent.backend"
PER_CONNECTION = "bytes_per_connection"


@dataclass(frozen=True)
class Goal:
    """A line of the table. What has a `headline` stands in large letters at the top of the page.

    `limit` is what the machine allows where a goal was missed, `doubt` why a verdict is not the last word.
    """

    measure: str
    goal: str
    measured: str
    verdict: str
    headline: str = ""
    limit: str = ""
    doubt: str = ""


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
        yield _ratio(lab, what, least, key, "default", ["direct"], headline)
    for file, alive in cells:
        key = {"file": file, "keepalive": alive, "clients": 25}
        what = f"default ÷ the faster of static and varnish, {_said(key)}"
        yield _ratio(lab, what, 0.9, key, "default", ["static", "varnish"])


def _backend(lab: Lab) -> Goal:
    what, goal = "CPU of the backend while the default host serves hits, its highest cell", "< 1 %"
    cells = [cell for cell in lab.cells if cell.key.get("way") == "default"]
    found = [cell.median[BACKEND] for cell in cells if BACKEND in cell.median]
    if not found:
        return Goal(what, goal, _why(cells), UNKNOWN)
    verdict = MET if max(found) < 1 else MISSED
    return Goal(what, goal, f"{words.number(max(found))} %", verdict, doubt=_doubt(lab, cells))


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
    cells = [
        cell for cell in lab.cells if cell.key.get("way") == "default" and cell.key.get("rush") in (0, 60)
    ]
    return Goal(what, goal, said, MET if ratio <= 1.5 else MISSED, headline, doubt=_doubt(lab, cells))


def _rush(lab: Lab, way: str) -> float:
    rush, idle = (
        _measured(lab, {"way": way, "rush": rush}, "p99_milliseconds").median["p99_milliseconds"]
        for rush in (60, 0)
    )
    return rush / idle


def _opendata(lab: Lab) -> Goal:
    what = "opendata page, Varnish ÷ direct, 5 clients (article: 30)"
    key: Key = {"page": "home", "keepalive": False, "clients": 5}
    return _ratio(
        lab, what, 100, key, "varnish", ["direct"], "slow page: Varnish against the application alone"
    )


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
    text += "".join(f"; refused: {cell.key['server']}" for cell in refused)
    return Goal(what, goal, text, MET, doubt=_doubt(lab, held))


def _classic(lab: Lab) -> Goal:
    what, goal = "classic ÷ direct, every cell", "as it is; article: 1.36 to 2.58"
    cells = [cell for cell in lab.cells if cell.key.get("way") == "classic"]
    found = [factor for cell in cells if (factor := lab.factor(cell))]
    if not found:
        return Goal(what, goal, _why(cells), UNKNOWN)
    compared = [cell for cell in lab.cells if cell.key.get("way") in ("classic", "direct")]
    return Goal(what, goal, f"{min(found):.2f} to {max(found):.2f}", STATED, doubt=_doubt(lab, compared))


def _said(key: Key) -> str:
    return words.key({**key, "file": f"{key['file']} file"})


def _ratio(
    lab: Lab, what: str, least: float, key: Key, way: str, others: Sequence[str], headline: str = ""
) -> Goal:
    """A way's requests against those of the fastest of others, which is named if it is one of several."""
    metric, goal = "requests_per_second", f"≥ {least:g}"
    try:
        over = _measured(lab, {**key, "way": way}, metric)
        against = [_measured(lab, {**key, "way": other}, metric) for other in others]
    except Missing as missing:
        return Goal(what, goal, str(missing), UNKNOWN)
    under = max(against, key=lambda cell: cell.median[metric])
    ratio = over.median[metric] / under.median[metric]
    said = words.factor(ratio) + (f" (of {under.key['way']})" if len(others) > 1 else "")
    doubt = _doubt(lab, [over, *against])
    if ratio >= least:
        return Goal(what, goal, said, MET, headline, doubt=doubt)
    found = profile(lab, over)
    limit = f"{words.factor(found.limit / under.median[metric])}, {found.why} full" if found else ""
    return Goal(what, goal, said, MISSED, headline, limit, doubt)


def _measured(lab: Lab, key: Key, metric: str) -> Measured:
    """A cell with this metric; Missing if it is not there or is nothing to divide by."""
    cell = lab.cell(key)
    if cell is None or cell.median.get(metric, 0) <= 0:
        raise Missing(_why([cell] if cell else []))
    return cell


def _doubt(lab: Lab, cells: Sequence[Measured]) -> str:
    """Why a verdict on these cells may change: the run is not over, or repetitions lie too far apart."""
    samples = [
        [one[lab.primary] for one in cell.samples if lab.primary in one]
        for cell in cells
        if cell.median.get(lab.primary)
    ]
    reasons = [
        "half measured" if lab.results and not lab.results.finished else "",
        "may be noise" if any(one and spread_percent(one) > NOISY for one in samples) else "",
    ]
    return ", ".join(filter(None, reasons))


def _why(cells: Sequence[Measured]) -> str:
    """Why there is no figure."""
    refused = [cell for cell in cells if cell.problem]
    if not refused:
        return words.NOTHING
    return f"refused: {words.key(refused[0].key)}: {words.reason(refused[0].problem)}"
