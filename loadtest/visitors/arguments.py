"""What a run can be told, as fields of the web UI, command line arguments and LOADTEST_ variables."""

import os
from argparse import Namespace
from typing import Any

from locust import events
from locust.argument_parser import LocustArgumentParser

# The sites of the front of house (docs/architecture.md): who sends which Host header gets which path.
TOPOLOGIES = [
    "upstage.localhost",
    "classic.localhost",
    "nginx.localhost",
    "static.localhost",
    "second.localhost",
]
AUDIENCES = ["reloads", "stays"]
SCENARIOS = ["CurtainUp", "Slashdot", "Interval", "LongRun", "Step"]


def add(parser: LocustArgumentParser) -> None:
    """Tell Locust about them."""

    def add_argument(name: str, **more: Any) -> None:
        parser.add_argument(f"--{name}", env_var=f"LOADTEST_{name.upper().replace('-', '_')}", **more)

    add_argument(
        "topology",
        choices=TOPOLOGIES,
        default=TOPOLOGIES[0],
        help="which way through the house: the Host header of every request",
    )
    add_argument("stage", default="demo", help="ID of the stage to visit")
    add_argument(
        "audience",
        choices=AUDIENCES,
        default=AUDIENCES[0],
        help="whether the audience reloads the stage every few seconds, or stays in its seats",
    )
    add_argument("chat-rate", type=float, default=2.0, help="lines a minute that each visitor says")
    add_argument("player", default="", help="the account with which Player signs in")
    # Without a variable: what is the default of a field stands in the page's source, secret or not.
    parser.add_argument(
        "--password", default="", is_secret=True, help="of that account; empty: LOADTEST_PASSWORD"
    )
    hidden: dict[str, Any] = {"include_in_web_ui": False}
    add_argument("stage-port", type=int, default=17230, help="where the stage socket is (17230)", **hidden)
    add_argument("policy-port", type=int, default=13000, help="where the Flash policy is (13000)", **hidden)
    add_argument(
        "scenario",
        choices=SCENARIOS,
        help="without the web UI: the load shape to play instead of --users, --spawn-rate",
        **hidden,
    )


def complete(options: Namespace) -> None:
    """What the form leaves open. Workers get it from their master with the other options."""
    options.password = options.password or os.environ.get("LOADTEST_PASSWORD", "")


events.init_command_line_parser.add_listener(add)  # type: ignore[no-untyped-call]
