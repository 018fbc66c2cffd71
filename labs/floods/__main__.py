"""Flood a running stack; report responses cut short, memory used, and latency for other clients.

    python -m labs.floods --project proscenium --plot floods.png [quiet files slow crowd urls all viewers]

The clients use the load port, which has no limits for one client, as if each had its own address. A response
counts as cut when it ends before its Content-Length. Throughout, another client requests a page, a picture
and a sound. Memory is what the engine counts against a container's limit, without the file cache that the
kernel takes back when it is needed. The targets are this project's own containers.
"""

import argparse
import asyncio
import itertools
import multiprocessing
import sys
import time
from collections import Counter
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event
from pathlib import Path

import uvloop

from labs.floods.clients import FLOODS, SMALL, Sizes, fetch
from labs.floods.containers import SERVICES, Address, Containers, Engine
from labs.floods.report import Outcome, plot

OTHER = ("/", SMALL, "/media/audio/applause.mp3")
Observed = tuple[list[float], Counter[str], dict[str, list[tuple[float, float]]]]


def observe(
    address: Address, names: dict[str, str], results: "Connection[Observed, None]", over: Event
) -> None:
    """Act as the other client and sample memory until the flood ends, in a separate process."""
    other: list[float] = []
    failed: Counter[str] = Counter()
    memory: dict[str, list[tuple[float, float]]] = {service: [] for service in names}

    async def ask() -> None:
        for path in itertools.cycle(OTHER):
            if over.is_set():
                return
            status, seconds = await fetch(address, path, timeout=10)
            if status == "200":
                other.append(seconds)
            else:
                failed[f"{path} {status}"] += 1
            await asyncio.sleep(0.1)

    async def sample() -> None:
        start = time.monotonic()
        while not over.is_set():
            for service, container in names.items():
                share = await asyncio.to_thread(Engine().memory, container)
                memory[service].append((time.monotonic() - start, share))
            await asyncio.sleep(0.5)

    async def both() -> None:
        await asyncio.gather(ask(), sample())

    asyncio.run(both())
    results.send((other, failed, memory))


def flood(project: str, name: str, sizes: Sizes) -> Outcome:
    """Run one flood against a project's containers; return its outcome."""
    containers, outcome = Containers(project), Outcome(name)
    here, there = multiprocessing.Pipe(duplex=False)
    over = multiprocessing.Event()
    names = {service: containers.container(service) for service in SERVICES}
    observer = multiprocessing.Process(target=observe, args=(containers.address, names, there, over))
    observer.start()
    outcome.began = time.time()
    try:
        uvloop.run(FLOODS[name](containers, sizes, outcome))
    finally:
        outcome.ended = time.time()
        over.set()
        if here.poll(30):
            outcome.other, outcome.failed, outcome.memory = here.recv()
        observer.join(10)
    assert outcome.memory, "the observer has failed"
    outcome.killed = containers.killed(outcome.began)
    return outcome


def main() -> int:
    """Run the floods and print the outcome of each; return exit status 1 if one broke a promise."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("floods", nargs="*", help=f"{', '.join(FLOODS)}; all of them by default")
    parser.add_argument("--project", default="proscenium", help="Compose's name for the containers")
    parser.add_argument("--plot", type=Path, help="an image of the services' memory")
    for name, default in vars(Sizes()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(default), default=default)
    given = parser.parse_args()
    if unknown := set(given.floods) - set(FLOODS):
        parser.error(f"there is no flood {', '.join(sorted(unknown))}")
    sizes = Sizes(**{name: getattr(given, name) for name in vars(Sizes())})
    outcomes = []
    for name in given.floods or FLOODS:
        outcomes.append(flood(given.project, name, sizes))
        print(outcomes[-1], flush=True)
    if given.plot:
        plot(outcomes, given.plot)
    return int(any(outcome.faults for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
