"""The command line: `policyd --port 3000 --file flashpolicy.xml`, and `policyd check HOST PORT`."""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from policyd.check import CheckError, check
from policyd.daemon import run
from policyd.journal import Journal
from policyd.policy import LAST_PORT, PolicyError
from policyd.server import Limits


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; 0 is success, 1 a problem told on standard error, 2 a wrong command line."""
    options = _parser().parse_args(argv)
    try:
        if options.command == "check":
            print(check(options.host, options.port, options.timeout))
        else:
            limits = Limits(
                deadline=options.deadline,
                max_connections=options.max_connections,
                max_per_address=options.max_per_address,
            )
            journal = Journal(lines_per_second=options.log_lines)
            asyncio.run(run(options.file, options.host, options.port, limits, journal))
    except (CheckError, PolicyError) as problem:
        print(f"policyd: {problem}", file=sys.stderr)
        return 1
    except OSError as problem:
        print(f"policyd: {problem.strerror or problem}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    usual = Limits()
    parser = argparse.ArgumentParser(prog="policyd", description="Flash socket policy daemon")
    parser.add_argument(
        "--port", type=_listening_port, default=3000, help="3000; Flash itself asks on 843 first"
    )
    parser.add_argument("--file", type=Path, default=Path("flashpolicy.xml"), help="the policy (%(default)s)")
    parser.add_argument("--host", action="append", default=[], help="address, repeatable (all IPv4 and IPv6)")
    parser.add_argument("--deadline", type=_seconds, default=usual.deadline, help="seconds (%(default)s)")
    parser.add_argument("--max-connections", type=_count, default=usual.max_connections, help="%(default)s")
    parser.add_argument(
        "--max-per-address",
        type=_count,
        default=usual.max_per_address,
        help="%(default)s, chosen for a proxy in front; without one, 10 is plenty",
    )
    parser.add_argument(
        "--log-lines", type=_count, default=20, help="connection lines per second (%(default)s)"
    )

    commands = parser.add_subparsers(dest="command", title="instead of serving")
    checking = commands.add_parser("check", help="ask for a policy as Flash does, validate and print it")
    checking.add_argument("host")
    checking.add_argument("port", type=_port)
    checking.add_argument("--timeout", type=_seconds, default=2.0, help="seconds (%(default)s)")
    return parser


def _port(text: str) -> int:
    port = int(text)
    if not 1 <= port <= LAST_PORT:
        raise argparse.ArgumentTypeError(f"{text}: ports go from 1 to {LAST_PORT}")
    return port


def _listening_port(text: str) -> int:
    return 0 if text == "0" else _port(text)  # 0: the kernel chooses, the log tells


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds <= 60:
        raise argparse.ArgumentTypeError(f"{text}: more than 0 and at most 60 seconds")
    return seconds


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError(f"{text}: at least 1")
    return count
