"""The options of a run: each is a field of the web UI, a command line option and a `LOADTEST_` variable."""

from argparse import ArgumentTypeError
from collections.abc import Callable
from typing import Any

from locust.argument_parser import LocustArgumentParser
from locust.util.timespan import parse_timespan

import topologies
import walk
from verdict import baseline

AUDIENCES = ["reloads", "stays"]
FAIL, COUNT = MISSES = ["fail", "count"]
YEAR = 365 * 24 * 3600  # seconds
CONSTANT, POISSON = ARRIVAL_TIMES = ["constant", "poisson"]
MOST_ARRIVALS = 1000.0  # per second; many processes of Locust together can open fewer
IGNORE, OBEY = ROBOTS = ["ignore", "obey"]
MOST_CRAWLED = 10_000.0  # per second
MOST_ADDRESSES = 60_000


def add(parser: LocustArgumentParser) -> None:
    """Declare the options, in the order of the form; limit three of Locust's own options to usable values."""
    own = {action.dest: action for action in parser._actions}
    own["num_users"].type = USERS
    own["spawn_rate"].type = SPAWN_RATE
    own["run_time"].type = run_time
    own["web_base_path"].type = lambda path: path.rstrip("/")

    for declare in (declare_visits, declare_rates, declare_measurements, declare_addresses):
        declare(parser)


def option(parser: LocustArgumentParser, name: str, **more: Any) -> None:
    """Declare an option that an environment variable can set, too."""
    parser.add_argument(f"--{name}", env_var=f"LOADTEST_{name.upper().replace('-', '_')}", **more)


def declare_visits(parser: LocustArgumentParser) -> None:
    """Declare what the simulated users visit, and with which account."""
    option(
        parser,
        "topology",
        choices=topologies.hosts(),
        default=topologies.DEFAULT,
        help="path through the stack, chosen by the Host header of every request",
    )
    option(
        parser,
        "stage",
        type=str,
        default="load",
        help="ID of the stage to visit; the stage load is there for this",
    )
    option(
        parser,
        "paths",
        type=paths_file,
        default="",
        help="class Pages: a file with the paths to walk: a list, an access log or a HAR file; "
        "on Locust's page, its name in loadtest/mine",
    )
    option(
        parser,
        "audience",
        choices=AUDIENCES,
        default=AUDIENCES[0],
        help="reloads: load the stage again every few seconds; stays: remain connected for 5 to 10 minutes",
    )
    option(parser, "chat-rate", type=within(0, 6000), default=2.0, help="chat lines per user and minute")
    option(parser, "player", default="", help="account for the class Player; empty: the stack's own")
    # No environment variable: the page's source contains every field's default, even a secret one.
    parser.add_argument(
        "--password",
        default="",
        is_secret=True,
        help="password of the Player's account",
    )


def declare_rates(parser: LocustArgumentParser) -> None:
    """Declare the rates of visits and of crawlers' requests."""
    option(
        parser,
        "arrivals",
        type=within(0, MOST_ARRIVALS, "number of visits per second"),
        default=0.0,
        help="visits per second of the class Arrivals, which then runs alone; 0: none. "
        "Compare measures the other classes first; Capacity has only those",
    )
    option(
        parser,
        "arrival-times",
        choices=ARRIVAL_TIMES,
        default=CONSTANT,
        help="gaps between arrivals: all the same, or by chance, as of visitors unknown to each other",
    )
    option(
        parser,
        "crawl",
        type=within(0, MOST_CRAWLED, "number of requests per second"),
        default=0.0,
        help="requests per second of all crawlers (class Crawler), beside the other classes; 0: none",
    )
    option(
        parser,
        "crawl-addresses",
        type=within(1, MOST_ADDRESSES, "number of addresses", int),
        default=1000,
        help="addresses that the crawlers have together, each with limits of its own",
    )
    option(
        parser,
        "robots",
        choices=ROBOTS,
        default=IGNORE,
        help="ignore: crawlers ask for anything, with invented queries; obey: only for what robots.txt "
        "allows, each address as often as its Crawl-delay allows",
    )


def declare_measurements(parser: LocustArgumentParser) -> None:
    """Declare what a run measures, and for how long."""
    option(
        parser,
        "misses",
        choices=MISSES,
        default=FAIL,
        help="files that no cache had, after warm-up: failed samples, or only counted (always by Compare)",
    )
    option(
        parser,
        "topologies",
        type=topology_list,
        default=topologies.COMPARED,
        help="shape Compare: the topologies, one after another",
    )
    option(
        parser,
        "baseline",
        type=kept_run,
        default="",
        help="a run that make load SAVE=NAME has kept: the tab Baseline shows what differs from it",
    )
    seconds, warm_up = (within(least, 3600, "number of seconds") for least in (1, 0))
    option(
        parser,
        "seconds",
        type=seconds,
        default=30.0,
        help="Compare and Capacity: seconds of each measurement",
    )
    option(
        parser,
        "warm-up",
        type=warm_up,
        default=5.0,
        help="Compare and Capacity: seconds before a measurement",
    )


def declare_addresses(parser: LocustArgumentParser) -> None:
    """Declare ports and names that only the stack's commands set."""
    port = within(1, 65_534, "port", int)
    hidden: dict[str, Any] = {"include_in_web_ui": False}
    option(parser, "stage-port", type=port, default=17230, help="port of the stage socket (17230)", **hidden)
    option(parser, "direct-port", type=port, default=8081, help="port of direct.localhost (8081)", **hidden)
    option(parser, "app-port", type=port, default=18000, help="port of alone.app, then nginx.app", **hidden)
    option(parser, "proxy-port", type=port, default=8001, help="port of the crawlers (8001)", **hidden)
    # An option, not a variable: the master sends its options to the workers.
    option(
        parser,
        "app-host",
        default=topologies.app_host(),
        help="Host header for your own application",
        **hidden,
    )
    option(parser, "policy-port", type=port, default=13000, help="port of the Flash policy (13000)", **hidden)
    option(parser, "shape", help="load shape of a run without the web UI", **hidden)


def topology_list(text: str) -> str:
    """Return the text itself, which the form shows. Raise ArgumentTypeError for an unknown name."""
    try:
        topologies.parse(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error
    return text


def kept_run(text: str) -> str:
    """Return the name of a kept run. Raise ArgumentTypeError if it cannot be read."""
    try:
        if text:
            baseline.read(baseline.folder_of(text))
    except baseline.RunError as error:
        raise ArgumentTypeError(str(error)) from error
    return text


def paths_file(text: str) -> str:
    """Return the name of a file with paths. Raise ArgumentTypeError if there is no file, or no path in it."""
    try:
        if text:
            walk.paths_of(text)
    except (OSError, ValueError) as error:
        raise ArgumentTypeError(str(error)) from error
    return text


def within(
    least: float, most: float, what: str = "number", kind: Callable[[str], float] = float
) -> Callable[[str], float]:
    """Return a function that converts a text to `kind`. It raises ArgumentTypeError if the text is not a
    number from `least` to `most`.

    The function also rejects NaN and infinity, for which `float` accepts words.
    """

    def convert(text: str) -> float:
        try:
            if least <= (found := kind(text)) <= most:
                return found
        except ValueError:
            pass
        raise ArgumentTypeError(f"{text!r} is not a {what} from {least:g} to {most:g}")

    return convert


def run_time(text: str) -> int:
    """Return the seconds of a run. Raise ArgumentTypeError for a text that is not a time, and for 0."""
    try:
        if 1 <= (seconds := parse_timespan(text)) <= YEAR:
            return seconds
    except (ValueError, OverflowError):
        pass
    raise ArgumentTypeError(f"{text!r} is not a time such as 30s, 5m or 1h30m")


USERS = within(1, 99_999, "whole number", int)
SPAWN_RATE = within(0.001, 99_999)
