"""The command line: `policyd --port 3000 --file flashpolicy.xml`, and `policyd check HOST PORT`."""

import argparse
import asyncio
import resource
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from policyd.check import CheckError, check
from policyd.log import Log
from policyd.policy import LAST_PORT, Policy, PolicyError, load
from policyd.server import Limits, PolicyServer, open_listeners, open_unix, shown

DESCRIPTORS_OF_OUR_OWN = 16  # open files that are not connections


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return 0, or 1 for a problem, printed on standard error."""
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
            log = Log(lines_per_second=options.log_lines)
            asyncio.run(run(options.file, options.host, options.port, options.unix, limits, log))
    except (CheckError, PolicyError) as problem:
        print(f"policyd: {problem}", file=sys.stderr)
        return 1
    except OSError as problem:
        print(f"policyd: {problem.strerror or problem}", file=sys.stderr)
        return 1
    return 0


async def run(
    path: Path, hosts: Sequence[str], port: int, unix: Path | None, limits: Limits, log: Log
) -> None:
    """Serve until SIGTERM or SIGINT. Raises `PolicyError` or `OSError` if it cannot begin."""
    policy = load(path)
    limits = _fit_descriptors(limits, log)
    listeners = open_listeners(hosts, port)
    port = listeners[0].getsockname()[1]
    if unix:
        listeners.append(open_unix(unix))
    server = PolicyServer(policy, limits, log)

    def reload() -> None:
        try:
            server.policy = load(path)
        except PolicyError as problem:
            log.event("reload-failed", error=str(problem), kept="the old policy")
            return
        log.event("reloaded", file=str(path), grants=len(server.policy.grants))
        _warn(server.policy, port, log)

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGHUP, reload)
    loop.add_signal_handler(signal.SIGUSR1, log.write_counters)
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    loop.add_signal_handler(signal.SIGINT, stop.set)

    ticking = asyncio.create_task(_tick(log))
    server.start(listeners)
    addresses = [shown(listener) for listener in listeners]
    log.event("listening", addresses=addresses, file=str(path), grants=len(policy.grants))
    _warn(policy, port, log)
    await stop.wait()
    await server.stop()
    ticking.cancel()
    log.tick()
    log.write_counters()
    log.event("stopped")


async def _tick(log: Log) -> None:
    while True:
        await asyncio.sleep(1)
        log.tick()


def _fit_descriptors(limits: Limits, log: Log) -> Limits:
    """Lower the cap to what the process may open: better close a connection at once than let it hang."""
    room = max(1, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - DESCRIPTORS_OF_OUR_OWN)
    if limits.max_connections <= room:
        return limits
    log.event("warning", warning=f"only {room} connections fit into the limit of open files (ulimit -n)")
    return replace(limits, max_connections=room)


def _warn(policy: Policy, port: int, log: Log) -> None:
    for warning in policy.warnings(port):
        log.event("warning", warning=warning)


def _parser() -> argparse.ArgumentParser:
    usual = Limits()
    parser = argparse.ArgumentParser(prog="policyd", description="Flash socket policy daemon")
    parser.add_argument(
        "--port",
        type=_listening_port,
        default=3000,
        help="port to listen on (%(default)s); 0: chosen by the kernel",
    )
    parser.add_argument("--file", type=Path, default=Path("flashpolicy.xml"), help="the policy (%(default)s)")
    parser.add_argument("--host", action="append", default=[], help="address, repeatable (all IPv4 and IPv6)")
    parser.add_argument("--unix", type=Path, metavar="PATH", help="a Unix socket to listen on as well")
    parser.add_argument(
        "--deadline", type=_seconds, default=usual.deadline, help="seconds per connection (%(default)s)"
    )
    parser.add_argument(
        "--max-connections", type=_count, default=usual.max_connections, help="open at once (%(default)s)"
    )
    parser.add_argument(
        "--max-per-address",
        type=_count,
        default=usual.max_per_address,
        help="open at once from one address (%(default)s, for a proxy; without one, 10 is plenty)",
    )
    parser.add_argument(
        "--log-lines", type=_count, default=20, help="connection lines per second (%(default)s)"
    )

    commands = parser.add_subparsers(dest="command", title="commands")
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
    return 0 if text == "0" else _port(text)  # 0: the kernel chooses one; the log has its number


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
