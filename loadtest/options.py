"""The options of a run: each is a field of the web UI, a command line option and a `LOADTEST_` variable."""

from typing import Any

from locust.argument_parser import LocustArgumentParser

# The sites of nginx (docs/architecture.md): the Host header chooses the path of a request.
TOPOLOGIES = [
    "upstage.localhost",
    "classic.localhost",
    "nginx.localhost",
    "static.localhost",
    "second.localhost",
]
AUDIENCES = ["reloads", "stays"]


def add(parser: LocustArgumentParser, shapes: list[str]) -> None:
    """Declare the options; `shapes` are the names that `--shape` takes."""

    def option(name: str, **more: Any) -> None:
        parser.add_argument(f"--{name}", env_var=f"LOADTEST_{name.upper().replace('-', '_')}", **more)

    option(
        "topology",
        choices=TOPOLOGIES,
        default=TOPOLOGIES[0],
        help="path through the stack, chosen by the Host header of every request",
    )
    option("stage", default="load", help="ID of the stage to visit; the stage load is there for this")
    option(
        "audience",
        choices=AUDIENCES,
        default=AUDIENCES[0],
        help="reloads: load the stage again every few seconds; stays: remain connected for 5 to 10 minutes",
    )
    option("chat-rate", type=float, default=2.0, help="chat lines per user and minute")
    option("player", default="", help="account for the class Player; empty: the stack's own")
    # No environment variable: the page's source contains the default of every field, a secret one included.
    parser.add_argument(
        "--password",
        default="",
        is_secret=True,
        help="password of the Player's account",
    )
    hidden: dict[str, Any] = {"include_in_web_ui": False}
    option("stage-port", type=int, default=17230, help="port of the stage socket (17230)", **hidden)
    option("policy-port", type=int, default=13000, help="port of the Flash policy (13000)", **hidden)
    option("shape", choices=shapes, help="load shape of a run without the web UI", **hidden)
