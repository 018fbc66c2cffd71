"""`make soak` tells whether memory, descriptors or latency grow under ordinary load (docs/reliability.md).

Runs Locust and samples the containers once a minute; then compares the end with the beginning. The exit
status is 1 if a figure grows without a known end, or if a service stopped.
"""

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from math import ceil, inf
from pathlib import Path
from statistics import median
from typing import TextIO

from logs.serverlogs import nginx_lines
from proscenium.running import NotRunning, running
from proscenium.terminal import interrupts, note_interrupts

EVERY = 60.0  # seconds
LEAST = 4  # samples: one for the warm-up, and three, of which the first and the last are compared
GROWTH = 1.2  # times the beginning; less is noise, as is less than a floor, because memory grows in steps
FLOORS = {"memory, % of the limit": 2.0, "descriptors": 50.0, "p95, ms": 20.0}
MEMORY, DESCRIPTORS, P95 = FLOORS
# Service -> the per cent of its memory up to which it may grow, and what fills it until then.
FILLS = {
    "nginx": (30, "the micro-cache, up to 3,000 copies of 80 kB"),
    "varnish": (75, "VARNISH_STORAGE, and the overhead of each object"),
    "backend": (15, "2,000 lines and 10,000 marks of each stage, 1,000 sign-ins and keys"),
    "locust": (50, "the points of its charts, until its statistics are reset"),
}
# In a container: the descriptors of all its processes, then its memory in bytes, its limit, and more.
USE = """set -- /proc/[0-9]*/fd/*; echo $#; cd /sys/fs/cgroup
    cat memory.current memory.max memory.stat 2>/dev/null || # cgroups version 2, or 1
    cd memory && cat memory.usage_in_bytes memory.limit_in_bytes memory.stat"""
# Runs Locust in the running stack, with the folder for its report.
LOCUST = ["bash", "-c", '. bin/lib/common.sh; . bin/lib/modes.sh; use_started_mode; stack_locust "$0" soak']
REFUSED = 64  # by loadtest/run.py: nothing has been started
# Where there is no terminal, Ctrl-C ends the engine's client alone, not Locust in its container.
END_LOCUST = """for one in /proc/[0-9]*; do
    if tr "\\0" " " <"$one/cmdline" | grep -q "[r]un.py soak"; then kill "${one#/proc/}"; fi
done"""
Program = subprocess.Popen[bytes]
Sample = dict[str, dict[str, float]]  # measure -> service or series -> value


class Sampler:
    """Samples the running services. Raise NotRunning if one does not answer, or was restarted."""

    def __init__(self) -> None:
        self._started, self._metrics = running().started(), running().upstage("metrics")

    def sample(self) -> Sample:
        """Return the use of each service now, and the latency of the last minute."""
        before, self._started = self._started, running().started()
        if stopped := sorted(dict(before.items() - self._started.items())):
            raise NotRunning(f"{', '.join(stopped)} stopped or was restarted")
        metrics, self._metrics = self._metrics, running().upstage("metrics")
        requests = request_p95(running().log("nginx").splitlines(), since=time.time() - EVERY)
        p95 = {"requests": requests, "chat lines": chat_p95(metrics, self._metrics)}
        now = {name: used(running().run(name, "sh", "-c", USE)) for name in self._started}
        return {
            MEMORY: {name: memory for name, (memory, _) in now.items()},
            DESCRIPTORS: {name: count for name, (_, count) in now.items()},
            P95: {name: seconds * 1000 for name, seconds in p95.items() if seconds is not None},
        }


def used(text: str) -> tuple[float, float]:
    """Return memory in per cent, without the kernel's file cache, and descriptors, from the output of USE."""
    count, memory, limit, *stat = text.split()
    cache = dict(zip(stat[::2], stat[1::2], strict=True))
    reclaimed = int(cache.get("total_inactive_file", cache["inactive_file"]))  # version 1 of cgroups has both
    return round(100 * (int(memory) - reclaimed) / float(limit.replace("max", "inf")), 1), int(count)


def request_p95(log: Iterable[str], since: float) -> float:
    """Return the p95 in seconds from nginx's log, without responses meant to wait, such as a WebSocket's."""
    held = ("/media/video/", "/speech/")
    lines = (line for line in nginx_lines(log) if line.status != 101 and not line.path.startswith(held))
    times = sorted(line.seconds for line in lines if line.seconds is not None and (line.ended or 0) > since)
    if not times:
        raise NotRunning("nginx has logged no request")
    return times[ceil(0.95 * len(times)) - 1]


def chat_p95(before: str, now: str) -> float | None:
    """Return the p95 of seconds until a frame reached all clients, as its bucket's end, from two scrapes."""
    bucket = r'^upstage_frame_seconds_bucket\{le="([^"]+)"\} (\S+)$'
    old, new = (dict(re.findall(bucket, metrics, re.M)) for metrics in (before, now))
    within = {float(most): float(count) - float(old.get(most, 0)) for most, count in new.items()}
    return min((most for most, count in within.items() if count >= 0.95 * within[inf] > 0), default=None)


def judge(samples: Sequence[Sample]) -> Iterator[tuple[str, bool]]:
    """Yield a line for each series, and whether it is a fault; the first third of the samples is warm-up."""
    for measure, floor in FLOORS.items():
        for name in dict.fromkeys(name for sample in samples for name in sample[measure]):
            found = [sample[measure][name] for sample in samples if name in sample[measure]]
            after = found[len(found) // 3 :]
            third = ceil(len(after) / 3)
            begin, end = median(after[:third]), median(after[-third:])
            share, what = FILLS.get(name.partition("-")[0], (0, ""))
            verdict, fault = "GROWS", True
            if len(found) < LEAST:
                verdict = f"NOT MEASURED: {len(found)} samples, {LEAST} are needed"
            elif end <= begin * GROWTH or end - begin <= floor:
                verdict, fault = "steady", False
            elif measure == MEMORY and end <= share:
                verdict, fault = f"fills: {what}", False
            yield f"{measure:22} {name:12} {begin:9,.1f} {end:9,.1f}  {verdict}", fault


def ends_before(program: Program, until: float) -> bool:
    """Wait for a program until a time of the monotonic clock; return whether it has ended."""
    with suppress(subprocess.TimeoutExpired):
        program.wait(max(0.0, until - time.monotonic()))
    return program.poll() is not None


def record(locust: subprocess.Popen[bytes], minutes: int, file: TextIO) -> tuple[list[Sample], list[str]]:
    """Sample each minute while Locust runs, and write a line each; return the samples and the failures."""
    newline = "\r\n" if sys.stdout.isatty() else "\n"  # docker's client has put the terminal into raw mode
    samples, wrong = [], []
    sampler, began = Sampler(), time.monotonic()
    for minute in range(1, minutes + 1):
        if ends_before(locust, began + EVERY * minute) or interrupts:
            break
        try:
            samples.append(sampler.sample())
            print(said := json.dumps(samples[-1]), file=file, flush=True)
        except NotRunning as error:
            wrong.append(said := f"In minute {minute}, {error}")
        print(f"minute {minute}: {said}", end=newline, flush=True)
    return samples, wrong


def main(minutes: int, folder: Path) -> int:
    """Run Locust, sample, judge, and write samples.jsonl and verdict.txt; return the exit status."""
    note_interrupts()
    folder.mkdir(parents=True, exist_ok=True)
    with subprocess.Popen([*LOCUST, folder / "load"]) as locust, (folder / "samples.jsonl").open("w") as file:
        try:
            samples, wrong = record(locust, minutes, file)
            ends_before(
                locust, time.monotonic() + EVERY
            )  # it began a little later, and prints its verdict first
        finally:
            with suppress(NotRunning):
                running().run("locust", "sh", "-c", END_LOCUST)
    if locust.returncode == REFUSED:
        return 1
    lines = [(line, True) for line in wrong] + list(judge(samples))
    lines = lines or [("The run was too short to be judged.", True)]
    if all("chat lines" not in sample[P95] for sample in samples):
        lines.append(("No chat line was timed.", True))
    failed = any(fault for _, fault in lines)
    last = "FAILED" if failed else "GOOD: nothing grows that has no end"
    text = "\n".join([f"{'':35} {'beginning':>9} {'end':>9}", *(line for line, _ in lines), last]) + "\n"
    (folder / "verdict.txt").write_text(text)
    print(f"\n{text}", end="")
    return int(failed or locust.returncode != 0)


if __name__ == "__main__":
    try:
        sys.exit(main(int(sys.argv[1]), Path(sys.argv[2])))
    except NotRunning as error:
        sys.exit(str(error))
