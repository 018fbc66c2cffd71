"""The daemon: policy, listeners, server and journal put together, and the operator's signals."""

import asyncio
import resource
import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from policyd.journal import Journal
from policyd.listeners import open_listeners, shown
from policyd.policy import Policy, PolicyError, load
from policyd.server import Limits, PolicyServer

DESCRIPTORS_OF_OUR_OWN = 16


async def run(path: Path, hosts: Sequence[str], port: int, limits: Limits, journal: Journal) -> None:
    """Serve until SIGTERM or SIGINT. Raises `PolicyError` or `OSError` if it cannot begin."""
    policy = load(path)
    limits = _fit_descriptors(limits, journal)
    listeners = open_listeners(hosts, port)
    port = listeners[0].getsockname()[1]
    server = PolicyServer(policy, limits, journal)

    def reload() -> None:
        try:
            server.policy = load(path)
        except PolicyError as problem:
            journal.event("reload-failed", error=str(problem), kept="the old policy")
            return
        journal.event("reloaded", file=str(path), grants=len(server.policy.grants))
        _warn(server.policy, port, journal)

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGHUP, reload)
    loop.add_signal_handler(signal.SIGUSR1, journal.write_counters)
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    loop.add_signal_handler(signal.SIGINT, stop.set)

    ticking = asyncio.create_task(_tick(journal))
    server.start(listeners)
    addresses = [shown(listener) for listener in listeners]
    journal.event("listening", addresses=addresses, file=str(path), grants=len(policy.grants))
    _warn(policy, port, journal)
    await stop.wait()
    await server.stop()
    ticking.cancel()
    journal.tick()
    journal.write_counters()
    journal.event("stopped")


async def _tick(journal: Journal) -> None:
    while True:
        await asyncio.sleep(1)
        journal.tick()


def _fit_descriptors(limits: Limits, journal: Journal) -> Limits:
    """Lower the total to what the process may open: better to refuse at once than not to accept."""
    room = max(1, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - DESCRIPTORS_OF_OUR_OWN)
    if limits.max_connections <= room:
        return limits
    journal.event("warning", warning=f"only {room} connections fit into the limit of open files (ulimit -n)")
    return replace(limits, max_connections=room)


def _warn(policy: Policy, port: int, journal: Journal) -> None:
    for warning in policy.warnings(port):
        journal.event("warning", warning=warning)
