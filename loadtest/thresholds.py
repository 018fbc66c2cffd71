"""What a run must reach: a file of thresholds, and fields of the form that stand for some of its lines.

The file is the one source: what it says is what a field shows, and a line that it has not has no field.
"""

from argparse import ArgumentParser, Namespace
from functools import cache
from pathlib import Path

from locust import events
from locust.argument_parser import LocustArgumentParser

import judge

OURS = Path(__file__).with_name("thresholds.toml")
# Option -> the line for which it stands, and what it is.
FIELDS = {
    "max-errors": ("error_ratio", "*", "share of samples that may fail, 0 to 1"),
    "max-page-ms": ("p95_ms", "GET /stages/*", "p95 of the stage's page"),
    "max-media-ms": ("p95_ms", "GET /media/*", "p95 of media"),
    "max-heard-ms": ("p95_ms", "* heard", "p95 from saying a line to hearing it elsewhere"),
    "min-hits": ("hit_ratio", "/media/*", "share of media that a cache must have had, 0 to 1"),
}


@cache
def file() -> judge.Thresholds:
    """Read the file, before Locust has read its command line: defaults of other options are in there."""
    early = ArgumentParser(add_help=False, allow_abbrev=False)
    early.add_argument("--thresholds", default="")
    return judge.read(Path(early.parse_known_args()[0].thresholds or OURS))


def add(parser: LocustArgumentParser) -> None:
    """Tell Locust about them. A slip in the file ends it here, not after the run."""
    try:
        tables = file()
    except (OSError, ValueError) as error:
        parser.error(str(error))  # type: ignore[no-untyped-call]
    parser.add_argument(
        "--thresholds",
        metavar="FILE",
        default="",
        include_in_web_ui=False,
        help="Judge the run by this file when it is over: exit code 1 or more if it is not good enough",
    )
    for option, (table, pattern, what) in FIELDS.items():
        if pattern in tables.get(table, {}):
            parser.add_argument(
                f"--{option}",
                env_var="LOADTEST_" + option.upper().replace("-", "_"),
                type=float,
                default=float(tables[table][pattern]),
                help=f"for the verdict: {what}",
            )


def asked(options: Namespace) -> judge.Thresholds:
    """What this run is judged by."""
    tables = {table: dict(lines) for table, lines in file().items()}
    for option, (table, pattern, _) in FIELDS.items():
        if pattern in tables.get(table, {}):
            tables[table][pattern] = getattr(options, option.replace("-", "_"))
    return tables


events.init_command_line_parser.add_listener(add)  # type: ignore[no-untyped-call]
