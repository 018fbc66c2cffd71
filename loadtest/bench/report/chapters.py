"""A chapter of the page for each lab: its plots, each with the table behind it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from bench.cost import cost
from bench.report import charts, tables, words
from bench.report.plot import Mark, Plot, legend, tones
from bench.report.profile import Profile, profile
from bench.report.reading import Lab, is_number
from bench.report.tables import Table, distinct
from bench.results import Measured

# The ways of a request through the house, for whoever sees the page without having read the design.
WAYS = {
    "direct": "UpStage alone",
    "classic": "nginx and Varnish as in 2011",
    "default": "nginx and Varnish as today",
    "nginx": "nginx passing everything on",
    "static": "nginx sending the file itself",
    "varnish": "Varnish without nginx",
}
HOUSE = ("upstage", "show")
PUBLISHED = Mark("published in the article", "ink", "◇")
LADDER = [
    Mark("so far", "plum", "■"),
    Mark("gain", "green", "■"),
    Mark("loss", "red", "■"),
    Mark("may be noise", "grey", "■"),
]


@dataclass(frozen=True)
class Exhibit:
    """Plots that belong together, with what they show in words and the figures behind them.

    Not in the README are figures that stand in another exhibit's table too.
    """

    title: str
    words: str
    plots: Sequence[Plot]
    legend: Sequence[Mark]
    tables: Sequence[Table]
    in_readme: bool = True


@dataclass(frozen=True)
class Chapter:
    """What the page says about a lab."""

    lab: Lab
    exhibits: Sequence[Exhibit] = ()
    published: Table | None = None
    everything: Table | None = None
    refused: Sequence[tuple[str, str]] = ()  # the cell, and the reason
    unfinished: str = ""  # what a half measured lab lacks


def chapter(lab: Lab) -> Chapter:
    """Draw a lab. One that was not run has an empty chapter, apart from what was published."""
    if not lab.results:
        return Chapter(lab, published=tables.published(lab))
    exhibits = KINDS.get(lab.name, comparison)(lab)
    return Chapter(
        lab,
        [exhibit for exhibit in exhibits if exhibit.plots],
        tables.published(lab),
        tables.plain("Every cell, every metric: medians", lab.cells),
        [(words.key(cell.key), words.reason(cell.problem)) for cell in lab.cells if cell.problem],
        "" if lab.results.finished else _lacks(lab),
    )


def _lacks(lab: Lab) -> str:
    waiting = sum(not cell.median and not cell.problem for cell in lab.cells)
    what = f"{waiting} of {words.plural(len(lab.cells), 'cell')}" if waiting else "repetitions"
    return f"Half measured, still to come: {what}."


@dataclass(frozen=True)
class Board:
    """Cells of a lab as series: `names` are the parts of the key that tell one series from another."""

    lab: Lab
    names: Sequence[str]
    cells: Sequence[Measured]
    tones: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        # Over the whole lab: a server wears the same colour in all its exhibits.
        named = [cell for cell in self.lab.cells if set(self.names) <= cell.key.keys()]
        object.__setattr__(self, "tones", tones(distinct(map(self.series, named))))

    def series(self, cell: Measured) -> str:
        """The series that a cell belongs to."""
        return words.key({name: cell.key[name] for name in self.names})

    def legend(self) -> list[Mark]:
        """The marks, and what a way is where its name does not say it."""
        meanings = WAYS if self.lab.name in HOUSE else {}
        return [
            Mark(mark.name, mark.tone, mark.letter, meanings.get(mark.name, ""))
            for mark in legend({name: self.tones[name] for name in distinct(map(self.series, self.cells))})
        ]

    def scale(self) -> str:
        """The part of the key that rises from cell to cell: three numbers or more; "" if there is none."""
        for name in distinct(name for cell in self.cells for name in cell.key):
            values = {cell.key[name] for cell in self.cells if is_number(cell.key.get(name))}
            if name not in self.names and len(values) >= 3:
                return name
        return ""

    def top(self, scale: str) -> list[Measured]:
        """The cells at the far end of a scale; all of them without one."""
        most = max((value for cell in self.cells if is_number(value := cell.key.get(scale))), default=None)
        return [cell for cell in self.cells if not scale or cell.key.get(scale) == most]

    def bars(self, cells: Sequence[Measured], metric: str) -> list[Plot]:
        """A plot for each combination of what is neither series nor metric."""
        plots = []
        for caption, group in grouped(cells, self.names).items():
            bars = [self.bar(cell, metric) for cell in group if cell.problem or metric in cell.median]
            if bars:
                plots.append(charts.bars(caption or words.metric(metric), bars, metric))
        return plots

    def bar(self, cell: Measured, metric: str) -> charts.Bar:
        """A bar with what was published for it, and with its factor if that is the metric's."""
        article = self.lab.article(cell.key)
        printed = article.figures.get(metric) if article else None
        factor = self.lab.factor(cell) if metric == self.lab.primary else None
        name = self.series(cell)
        return charts.Bar(
            name,
            self.tones[name],
            cell.median.get(metric),
            spread(cell, metric),
            words.factor(factor) if factor else "",
            printed if is_number(printed) else None,
            words.reason(cell.problem),
        )

    def printed(self, metric: str) -> bool:
        """Whether the article gives this metric for one of the cells."""
        entries = [self.lab.article(cell.key) for cell in self.cells]
        return any(entry and is_number(entry.figures.get(metric)) for entry in entries)

    def lines(self, caption: str, metric: str, scale: str, kind: charts.Lines) -> list[Plot]:
        """A plot for each combination of what is neither series nor scale."""
        plots = []
        for group, cells in grouped(self.cells, [*self.names, scale]).items():
            series: dict[str, list[charts.Point]] = {}
            printed: dict[str, list[charts.Point]] = {}
            for cell in sorted(cells, key=lambda cell: cell.key[scale]):
                x, y, name = cell.key[scale], cell.median.get(metric), self.series(cell)
                article = self.lab.article(cell.key)
                figure = article.figures.get(metric) if article else None
                if is_number(x) and (y is not None or cell.problem):
                    series.setdefault(name, []).append(charts.Point(x, y, spread(cell, metric)))
                if is_number(x) and is_number(figure):
                    printed.setdefault(name, []).append(charts.Point(x, figure))
            if tables.has_number(cells, metric):
                name = " · ".join(filter(None, (caption, group)))
                plots.append(charts.lines(name, series, self.tones, metric, kind, printed))
        return plots

    def table(self, metric: str) -> Table:
        """The figures behind the plots of a metric."""
        return tables.across(self.lab, self.cells, self.names, metric)


def comparison(lab: Lab) -> Iterator[Exhibit]:
    """Ways or servers side by side: bars, how they scale, their factors, what the backend has to compute."""
    names = list(lab.baseline)
    board = Board(lab, names, [cell for cell in lab.cells if names and set(names) <= cell.key.keys()])
    base, scale = words.key(lab.baseline), board.scale()
    published = [PUBLISHED] if board.printed(lab.primary) else []

    yield Exhibit(
        f"Side by side: {words.metric(lab.primary)}",
        f"A whisker spans the repetitions; behind a figure stands its factor over {base}.",
        board.bars(board.top(scale), lab.primary),
        board.legend() + published,
        [board.table(lab.primary)],
    )
    if scale:
        yield Exhibit(
            f"From few {words.spaced(scale)} to many",
            "Twice as much is equally far everywhere on this scale.",
            board.lines("", lab.primary, scale, charts.Lines(words.spaced(scale), logarithmic=True)),
            board.legend() + published,
            [board.table(lab.primary)],
        )
    yield Exhibit(
        f"Every factor over {base}",
        f"To the right of the line 1{words.TIMES} are those that give more than {base}.",
        _factors(board, base),
        [mark for mark in board.legend() if mark.name != base] + published,
        [tables.factors(lab, board.cells, names)],
        in_readme=False,
    )
    if tables.has_number(board.cells, BACKEND):
        yield Exhibit(
            "What is left for the backend to do",
            "Per cent of one core while these requests were answered.",
            board.bars(board.top(scale), BACKEND),
            board.legend() + ([PUBLISHED] if board.printed(BACKEND) else []),
            [board.table(BACKEND)],
        )


def ladder(lab: Lab) -> Iterator[Exhibit]:
    """From the first step to the last, one changed line at a time."""
    plots, behind = [], []
    for caption, cells in grouped([cell for cell in lab.cells if "step" in cell.key], ["step"]).items():
        steps = [
            charts.Step(str(cell.key["step"]), cell.median.get(lab.primary), spread(cell, lab.primary))
            for cell in cells
            if cell.median or cell.problem
        ]
        if steps:
            plots.append(charts.waterfall(caption or "Step by step", steps, lab.primary))
            behind.append(tables.steps(caption or "Step by step", steps, lab.primary))
    yield Exhibit(
        "Step by step",
        f"{words.metric(lab.primary).capitalize()}: what each step adds to the one before. A grey step lies "
        "within the spread of the repetitions, so it may be noise.",
        plots,
        LADDER,
        behind,
    )
    yield _profiles(lab, [cell for cell in lab.cells if "step" in cell.key], "step")


def upstage(lab: Lab) -> Iterator[Exhibit]:
    """The ways of a request through the house, and where the time of each goes."""
    yield from comparison(lab)
    board = Board(lab, ["way"], [cell for cell in lab.cells if "way" in cell.key])
    yield _profiles(lab, board.top(board.scale()), "way")


def show(lab: Lab) -> Iterator[Exhibit]:
    """The chat while the audience rushes in: how long a line takes to come back, and what it costs."""
    board = Board(lab, ["way"], [cell for cell in lab.cells if {"way", "rush"} <= cell.key.keys()])
    captions = {
        "p50_milliseconds": "Half of all lines (p50)",
        "p95_milliseconds": "19 of 20 lines (p95)",
        "p99_milliseconds": "99 of 100 lines (p99)",
        BACKEND: "What the backend computes",
    }
    plots: list[Plot] = []
    for metric, caption in captions.items():
        kind = charts.Lines("rush, % of UpStage's own capacity", logarithmic=metric != BACKEND)
        plots += board.lines(caption, metric, "rush", kind)
    yield Exhibit(
        "The chat during the rush",
        "A line is typed, and comes back from the stage: how long that takes while more and more people "
        "arrive. A rush of 100 % would be all that UpStage alone can serve.",
        plots,
        board.legend(),
        [tables.plain("The chat's round trip", board.cells, lambda metric: metric in captions)],
    )


def static(lab: Lab) -> Iterator[Exhibit]:
    """Servers under a rising rate of requests, and with many connections held."""
    sweep = Board(lab, ["server"], [cell for cell in lab.cells if {"server", "rate"} <= cell.key.keys()])
    asked = "requests asked for in a second"
    plots: list[Plot] = []
    for metric, caption, kind in (
        (
            "replies_per_second",
            "Replies: on the dotted line each request has one",
            charts.Lines(asked, as_asked=True),
        ),
        ("milliseconds", "How long a reply takes", charts.Lines(asked, logarithmic=True)),
        ("deviation_milliseconds", "How unlike these times are", charts.Lines(asked, logarithmic=True)),
        ("errors", "Errors: requests without a good answer", charts.Lines(asked)),
    ):
        plots += sweep.lines(caption, metric, "rate", kind)
    yield Exhibit(
        "Under a rising rate",
        "A server that leaves the dotted line, or has errors, is saturated. The deviation is low where all "
        "wait alike. Where there are errors, the longest waits are among them and not among the times.",
        plots,
        sweep.legend() + ([PUBLISHED] if sweep.printed(lab.primary) else []),
        [
            sweep.table(metric)
            for metric in ("replies_per_second", "milliseconds", "deviation_milliseconds", "errors")
            if tables.has_number(sweep.cells, metric)
        ],
    )
    held = Board(
        lab, ["server"], [cell for cell in lab.cells if {"server", "connections"} <= cell.key.keys()]
    )
    yield Exhibit(
        "With a full house",
        "Bytes of the server's memory for each connection that it holds.",
        held.bars(held.cells, PER_CONNECTION),
        held.legend(),
        [held.table(PER_CONNECTION)],
    )
    # The quick mode leaves out the rates and the connections at which the servers end.
    if lab.assumptions and lab.results and lab.results.mode == "full" and lab.results.finished:
        yield _costs(lab, sweep)


BACKEND = "cpu_percent.backend"
PER_CONNECTION = "bytes_per_connection"
KINDS: Mapping[str, Callable[[Lab], Iterator[Exhibit]]] = {
    "upstage": upstage,
    "ladder": ladder,
    "show": show,
    "static": static,
}


def grouped(cells: Sequence[Measured], names: Sequence[str]) -> dict[str, list[Measured]]:
    """The cells by the rest of their keys, in words."""
    groups: dict[str, list[Measured]] = {}
    for cell in cells:
        groups.setdefault(words.key(cell.key, names), []).append(cell)
    return groups


def spread(cell: Measured, metric: str) -> tuple[float, float] | None:
    """The lowest and the highest sample of a metric."""
    low_high = cell.spread.get(metric)
    return (low_high[0], low_high[1]) if low_high else None


def _factors(board: Board, base: str) -> list[Plot]:
    """A plot for each switch of the key (keep-alive or not), a row for each combination of the rest."""
    switches = distinct(name for cell in board.cells for name, on in cell.key.items() if isinstance(on, bool))
    found: dict[str, list[charts.Factor]] = {}
    for cell in board.cells:
        switch = words.key({name: cell.key[name] for name in switches if name in cell.key})
        row = words.key(cell.key, [*board.names, *switches]) or "all"
        article = board.lab.article(cell.key)
        printed = board.lab.published_factor(article) if article else None
        for value, of_article in ((board.lab.factor(cell), False), (printed, True)):
            if value:
                factor = charts.Factor(row, board.series(cell), value, of_article)
                found.setdefault(switch, []).append(factor)
    return [
        charts.factors(switch or f"Times {base}", group, board.tones, base) for switch, group in found.items()
    ]


def _profiles(lab: Lab, cells: Sequence[Measured], name: str) -> Exhibit:
    """What a request costs whom, a bar for each value of the key `name`."""
    groups: dict[str, dict[str, Profile]] = {}
    for cell in cells:
        if it := profile(lab, cell):
            groups.setdefault(words.key(cell.key, [name]), {})[str(cell.key[name])] = it
    worn = tones(distinct(who for group in groups.values() for it in group.values() for who in it.services))
    plots = []
    for caption, group in groups.items():
        stacks = [
            charts.Stack(value, {who: (spent, worn[who]) for who, spent in it.services.items()}, it.rest)
            for value, it in group.items()
        ]
        plots.append(charts.stacks(caption, stacks, "µs of CPU for a request"))
    return Exhibit(
        "Where the time goes",
        "What a request costs all who compute for it. The limit is how many could be served at this cost: "
        "until no core is ever idle, or a program of one thread fills its own.",
        plots,
        [
            *(Mark(who, worn[who], "■") for who in worn),
            Mark(words.REST, "muted", "□", "writing logs, the kernel's own work, other programs"),
        ],
        [tables.profiles(caption, name, group) for caption, group in groups.items()],
    )


def _costs(lab: Lab, board: Board) -> Exhibit:
    """What a user costs: how many one machine carries, and what ends it."""
    servers = distinct(map(board.series, board.cells))
    found = {
        server: cost([cell for cell in lab.cells if cell.key.get("server") == server], lab.assumptions)
        for server in servers
    }
    bars = [charts.Bar(server, board.tones[server], it.users) for server, it in found.items() if it]
    return Exhibit(
        "What a user costs",
        "A machine carries as many users as its rate, its memory and its connections all allow. What the "
        f"servers can do was measured; prices and habits are assumed, in labs/{lab.name}/assumptions.toml.",
        [charts.bars("Users of one machine", bars, "users")] if bars else [],
        board.legend(),
        [tables.costs(found)],
    )
