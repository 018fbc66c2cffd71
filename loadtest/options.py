"""The options of a run: each is a field of the web UI, a command line option and a `LOADTEST_` variable."""

from argparse import ArgumentTypeError
from typing import Any

from locust.argument_parser import LocustArgumentParser

import topologies
from users import pages

AUDIENCES = ["reloads", "stays"]
FAIL, COUNT = MISSES = ["fail", "count"]


def add(parser: LocustArgumentParser, shapes: list[str]) -> None:
    """Declare the options; `shapes` are the names that `--shape` takes."""

    def option(name: str, **more: Any) -> None:
        parser.add_argument(f"--{name}", env_var=f"LOADTEST_{name.upper().replace('-', '_')}", **more)

    option(
        "topology",
        choices=topologies.hosts(),
        default=topologies.DEFAULT,
        help="path through the stack, chosen by the Host header of every request",
    )
    option(
        "stage", type=str, default="load", help="ID of the stage to visit; the stage load is there for this"
    )
    option(
        "audience",
        choices=AUDIENCES,
        default=AUDIENCES[0],
        help="reloads: load the stage again every few seconds; stays: remain connected for 5 to 10 minutes",
    )
    option(
        "misses",
        choices=MISSES,
        default=FAIL,
        help="files that no cache had, after warm-up: failed samples, or only counted (always by Compare)",
    )
    option(
        "topologies",
        type=topology_list,
        default=topologies.COMPARED,
        help="shape Compare: the topologies, one after another",
    )
    option("seconds", type=seconds, default=30.0, help="Compare and Capacity: seconds of each measurement")
    option("warm-up", type=warm_up, default=5.0, help="Compare and Capacity: seconds before a measurement")
    option("chat-rate", type=float, default=2.0, help="chat lines per user and minute")
    option("player", default="", help="account for the class Player; empty: the stack's own")
    # No environment variable: the page's source contains the default of every field, a secret one included.
    parser.add_argument(
        "--password",
        default="",
        is_secret=True,
        help="password of the Player's account",
    )
    option(
        "paths",
        type=paths_file,
        default="",
        help="class Pages: a file with the paths to walk: a list, an access log or a HAR file",
    )
    hidden: dict[str, Any] = {"include_in_web_ui": False}
    option("stage-port", type=int, default=17230, help="port of the stage socket (17230)", **hidden)
    option("direct-port", type=int, default=8081, help="port of direct.localhost (8081)", **hidden)
    option("site-port", type=int, default=18000, help="port of alone.site; nginx.site has the next", **hidden)
    # An option, because workers get these from the master.
    option("site-host", default=topologies.site_host(), help="Host header for your own site", **hidden)
    option("policy-port", type=int, default=13000, help="port of the Flash policy (13000)", **hidden)
    option("shape", choices=shapes, help="load shape of a run without the web UI", **hidden)


def topology_list(text: str) -> str:
    """The text itself: in the form it is a field. Raise ArgumentTypeError for an unknown name."""
    try:
        topologies.parse(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error
    return text


def paths_file(text: str) -> str:
    """The name of a file with paths. Raise ArgumentTypeError if there is none, or no path in it."""
    try:
        if text:
            pages.paths_of(text)
    except (OSError, ValueError) as error:
        raise ArgumentTypeError(str(error)) from error
    return text


def seconds(text: str, least: float = 1) -> float:
    """The time of one measurement. Raise ArgumentTypeError if that is too short, too long or not a number."""
    try:
        if least <= float(text) <= 3600:
            return float(text)
    except ValueError:
        pass
    raise ArgumentTypeError(f"{text!r} is not a number of seconds from {least:g} to 3600")


def warm_up(text: str) -> float:
    """The time between the last user's arrival and a measurement."""
    return seconds(text, least=0)
