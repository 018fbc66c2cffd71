"""Several workers and one store: does every record come out again, once and whole?

    python3 -m labs.bench.clients.stores \
        '{"kind": "flat", "locked": true, "workers": "processes", "writers": 4, "runs": 25}'

A run is the task of the 2009 posts: records of two kilobytes wait for a short time, several under one key.
Each worker adds a record and takes one, ROUNDS times; the remaining records are taken at the end. The run is
complete if no record was lost, doubled or damaged, no operation failed, no process crashed, and the store's
own check finds no error. Each run has new files and new processes, because a broken store may crash its
process; for this reason each worker notes its operations in a file.
"""

import json
import multiprocessing
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.synchronize import Barrier
from pathlib import Path
from threading import BrokenBarrierError, Thread
from typing import Any

from labs.bench.clients.store import Store, open_stores

KEYS = (b"audience", b"player", b"stage", b"media")
BYTES = 2000  # of a record
WAITING = 8  # records at the start of a run
ROUNDS = 10  # rounds of a worker in a run
# A process that hangs counts as crashed. Most such processes loop: the CPU time distinguishes them from
# processes that wait on a busy machine.
WITHIN = 5.0  # seconds
CPU_WITHIN = 1  # seconds of CPU time

forked = multiprocessing.get_context("fork")


def record(name: str) -> bytes:
    """Return the value with this name: all values are equally long, and differ throughout."""
    return (f"{name}|".encode() * BYTES)[:BYTES]


def name_of(value: bytes) -> str:
    """Return the name of a value, or "damaged" if it is not exactly as it was added."""
    name = value.partition(b"|")[0].decode("ascii", "replace")
    return name if value == record(name) else "damaged"


class Notes:
    """A worker's notes: each line contains a word and its subject, and is written immediately."""

    def __init__(self, file: Path) -> None:
        self._file = file.open("a", buffering=1, errors="replace")

    def write(self, word: str, subject: object) -> None:
        """Add a line."""
        self._file.write(f"{word} {' '.join(str(subject).split())}\n")

    def attempt(self, action: Callable[[], object]) -> bool:
        """Do something that may raise any error of a store's library. If so, note it and return False."""
        try:
            action()
        except Exception as error:
            self.write("error", f"{type(error).__name__}: {error}")
            return False
        return True


@dataclass(frozen=True)
class Worker:
    """A worker's store and notes."""

    store: Store
    notes: Notes

    def add(self, key: bytes, name: str) -> None:
        """Add a record, and note it once the store has accepted it."""
        self.store.add(key, record(name))
        self.notes.write("added", name)

    def take(self, key: bytes) -> bool:
        """Take a record and note its name; return whether there was one."""
        value = self.store.take(key)
        if value is not None:
            self.notes.write("taken", name_of(value))
        return value is not None


Job = Callable[[Worker], None]


def fill(worker: Worker) -> None:
    """Add the records that wait from the start of a run."""
    for number in range(WAITING):
        worker.add(KEYS[number % len(KEYS)], f"waiting-{number}")


def work(number: int, worker: Worker) -> None:
    """Add and take a record ROUNDS times; note the beginning, the end, and the operations that succeeded."""
    succeeded = 0
    worker.notes.write("begin", time.monotonic())
    for step in range(ROUNDS):
        key = KEYS[(number + step) % len(KEYS)]
        succeeded += worker.notes.attempt(partial(worker.add, key, f"{number}-{step}"))
        succeeded += worker.notes.attempt(partial(worker.take, key))
    worker.notes.write("end", time.monotonic())
    worker.notes.write("succeeded", succeeded)


def drain(at_most: int, worker: Worker) -> None:
    """Take the remaining records and check the files. A broken store may return more than were added."""
    for key in KEYS:
        for _ in range(at_most):
            if not worker.take(key):
                break
    worker.notes.write("sound", worker.store.sound())


def serve(settings: Mapping[str, Any], folder: Path, name: str, jobs: Sequence[Job], start: Barrier) -> None:
    """Open the store and do each job in a separate thread, starting when all workers of the run are ready.

    If the store cannot be opened, the other workers do not wait for these.
    """
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_WITHIN, CPU_WITHIN))
    notes = [Notes(folder / f"{name}-{number}.notes") for number in range(len(jobs))]

    def open_and_work() -> None:
        try:
            stores = open_stores(settings, folder, len(jobs))
        except BaseException:
            start.abort()
            raise

        def do(job: Job, worker: Worker) -> None:
            with suppress(BrokenBarrierError):
                start.wait()
            job(worker)

        threads = [
            Thread(target=note.attempt, args=(partial(do, job, Worker(store, note)),))
            for job, store, note in zip(jobs, stores, notes, strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for store in dict.fromkeys(stores):
            store.close()

    notes[0].attempt(open_and_work)


def together(settings: Mapping[str, Any], folder: Path, processes: Sequence[Sequence[Job]]) -> int:
    """Do the jobs of several processes at the same time; return how many processes crashed."""
    start = forked.Barrier(sum(map(len, processes)))
    earlier = len(list(folder.glob("*.notes")))
    running = [
        forked.Process(target=serve, args=(settings, folder, f"{earlier}-{index}", jobs, start))
        for index, jobs in enumerate(processes)
    ]
    for process in running:
        process.start()
    deadline = time.monotonic() + WITHIN
    for process in running:
        process.join(max(0.0, deadline - time.monotonic()))
        process.kill()
        process.join()
    return sum(process.exitcode != 0 for process in running)


@dataclass
class Outcome:
    """A run's faults, and its workers' successful operations."""

    lost: int = 0
    doubled: int = 0
    damaged: int = 0
    errors: int = 0
    crashes: int = 0
    malformed: int = 0
    operations: int = 0
    seconds: float = 0.0

    @property
    def complete(self) -> bool:
        """Whether the run has no fault."""
        return not any((self.lost, self.doubled, self.damaged, self.errors, self.crashes, self.malformed))


def outcome(notes: Iterable[str], crashes: int) -> Outcome:
    """Count the notes of a run's workers. A damaged record does not also count as lost."""
    found: dict[str, list[str]] = {}
    for line in notes:
        word, _, subject = line.partition(" ")
        found.setdefault(word, []).append(subject)
    taken = Counter(found.get("taken", ()))
    damaged = taken.pop("damaged", 0)
    missing = sum(name not in taken for name in found.get("added", ()))
    begin, end = (list(map(float, found.get(word, ()))) for word in ("begin", "end"))
    return Outcome(
        lost=max(0, missing - damaged),
        doubled=sum(times - 1 for times in taken.values()),
        damaged=damaged,
        errors=len(found.get("error", ())),
        crashes=crashes,
        malformed=int(found.get("sound") != ["True"]),
        operations=sum(map(int, found.get("succeeded", ()))),
        seconds=max(end) - min(begin) if end else 0.0,
    )


def run(settings: Mapping[str, Any], writers: int, threads: bool, errors: Counter[str]) -> Outcome:
    """Make one run with new files; return its outcome, and count its error messages in `errors`."""
    jobs: list[Job] = [partial(work, number) for number in range(writers)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        crashes = together(settings, folder, [[fill]])
        crashes += together(settings, folder, [jobs] if threads else [[job] for job in jobs])
        crashes += together(settings, folder, [[partial(drain, WAITING + writers * ROUNDS)]])
        notes = [line for file in folder.glob("*.notes") for line in file.read_text().splitlines()]
    errors.update(line.removeprefix("error ") for line in notes if line.startswith("error "))
    return outcome(notes, crashes)


def report(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """Return the metrics of several runs; the counts are sums."""

    def total(name: str) -> float:
        return float(sum(getattr(each, name) for each in outcomes))

    seconds = total("seconds")
    return {
        "completed_percent": sum(each.complete for each in outcomes) / len(outcomes) * 100,
        "lost_records": total("lost"),
        "doubled_records": total("doubled"),
        "damaged_records": total("damaged"),
        "errors": total("errors"),
        "crashes": total("crashes"),
        "malformed_files": total("malformed"),
        "operations_per_second": total("operations") / seconds if seconds else 0.0,
    }


def main() -> None:
    settings = json.loads(sys.argv[1])
    errors: Counter[str] = Counter()
    threads = settings["workers"] == "threads"
    begin = time.monotonic()
    outcomes = [run(settings, settings["writers"], threads, errors) for _ in range(settings["runs"])]
    for message, times in errors.most_common():
        print(f"{times:6} {message}", file=sys.stderr)
    seconds = time.monotonic() - begin
    own_cpu = time.process_time() / seconds * 100  # the CPU time of this process, which starts the workers
    print(json.dumps({"seconds": seconds, "generator_cpu_percent": own_cpu, **report(outcomes)}))


if __name__ == "__main__":
    main()
