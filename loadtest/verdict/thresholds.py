"""The thresholds of a run: a file, and five fields of the form that override its lines."""

from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable
from pathlib import Path

from locust.argument_parser import LocustArgumentParser

from options import FAIL, within
from verdict import judge

SHIPPED = Path(__file__).with_name("thresholds.toml")
# Option -> the line that it overrides, and the line's description.
FIELDS = {
    "max-errors": ("error_ratio", "*", "share of samples that may fail, 0 to 1"),
    "max-page-ms": ("p95_ms", "GET /stages/*", "p95 of the stage page"),
    "max-media-ms": ("p95_ms", "GET /media/*", "p95 of media"),
    "max-heard-ms": ("p95_ms", "* heard", "p95 from sending a chat line until another user receives it"),
    "min-hits": ("hit_ratio", "/media/*", "share of media that must come from a cache, 0 to 1"),
}


def add(parser: LocustArgumentParser) -> None:
    """Declare the options. A mistake in the file ends Locust here, not after the run.

    The defaults of the fields are the numbers in the file that `--thresholds` names; a field without a line
    in the file has no effect. Because these defaults are text, argparse converts them after the arguments; by
    then the file is known. https://docs.python.org/3/library/argparse.html#default
    """
    shipped = judge.read(SHIPPED)
    file = dict(shipped)

    def read(path: str) -> judge.Thresholds:
        if not path:
            return {}
        try:
            chosen = judge.read(Path(path))
        except (OSError, ValueError) as error:
            raise ArgumentTypeError(f"{path}: {error}") from error
        file.clear()
        file.update(chosen)
        return chosen

    def number_of(table: str, pattern: str) -> Callable[[str], float]:
        typed = within(0, 1 if table.endswith("ratio") else 999_999)

        def number(text: str) -> float:
            return typed(text) if text else float(file.get(table, {}).get(pattern, shipped[table][pattern]))

        return number

    parser.add_argument(
        "--thresholds",
        metavar="FILE",
        type=read,
        default="",
        include_in_web_ui=False,
        help="judge the run by this file at its end: exit code 1 or more unless the run is good enough",
    )
    for option, (table, pattern, description) in FIELDS.items():
        if pattern in shipped.get(table, {}):
            parser.add_argument(
                f"--{option}",
                env_var="LOADTEST_" + option.upper().replace("-", "_"),
                type=number_of(table, pattern),
                default="",
                help=f"verdict: {description}",
            )


def of(options: Namespace, ours: bool = True) -> judge.Thresholds:
    """Return the thresholds of this run: the file, with the numbers of the fields.

    If misses are only counted, there are no thresholds for hits and samples: those for samples suit runs of a
    known length. `ours`: whether the run has a shipped class. If it has none, the shipped file's rows do not
    apply: only the lines for all rows remain, and the numbers that the form changes.
    """
    shipped = judge.read(SHIPPED)
    file = options.thresholds or shipped
    left_out = () if options.misses == FAIL else ("hit_ratio", "samples")
    tables = {table: dict(lines) for table, lines in file.items() if table not in left_out}
    for option, (table, pattern, _) in FIELDS.items():
        name = option.replace("-", "_")
        if pattern in tables.get(table, {}) and name in options:
            tables[table][pattern] = getattr(options, name)
    if ours or file != shipped:
        return tables
    return {
        table: {row: most for row, most in lines.items() if row == "*" or most != shipped[table][row]}
        for table, lines in tables.items()
    } | {"generator": tables.get("generator", {})}
