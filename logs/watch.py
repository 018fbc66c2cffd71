"""`make watch`: a line for each request of the running stack as it happens, until Ctrl-C. Run by bin/watch.

nginx's log has every request, Varnish's log the reasons; X-Request-Id joins the two. Each nginx worker writes
its part of the log once a second, so a line is held back until the other workers' lines must have arrived.
"""

import os
import queue
import signal
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from faults.note import read_note

from .explaining import Explained, explain, of_varnish
from .inside import NotRunning, follow, inside
from .serverlogs import Line, classic_lines, nginx_lines
from .varnishlog import Request, requests

HELD = 1.4  # seconds from the end of a request until its line is printed
PATIENCE = 4.0  # seconds, if Varnish has not yet said how it ended: it logs a request after its fetches
PAUSE = 0.2  # seconds between two looks at what is due
KEPT = 2000  # Varnish's requests that nginx has not logged yet; some never are
TAGS = (
    "Begin,Timestamp,ReqMethod,ReqURL,ReqHeader,VCL_call,Hit,HitMiss,HitPass,ExpBan,TTL,FetchError,RespStatus"
)
COLUMNS = "{:<8} {:<13} {:>9} {:>9}  {}"
HEADS = COLUMNS.format(
    "SERVER", "HOW", "TOTAL", "BACKEND", "REQUEST"
)  # printed when Varnish's log is being read


@dataclass(frozen=True)
class Wanted:
    """A choice of requests: those to a host, with a word in the URL; an empty string means all."""

    host: str = ""
    word: str = ""

    def has(self, line: Line) -> bool:
        """Whether a request is chosen."""
        return self.host in ("", line.host) and self.word in line.url


class Joiner:
    """Joins the lines of both logs and returns them in the order in which the requests ended."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._groups: dict[str, list[str]] = {}  # by the name of the Varnish
        self._seen: OrderedDict[str, Request] = OrderedDict()
        self._held: list[tuple[float, Line]] = []  # with the time of their arrival

    def varnish(self, name: str, text: str) -> None:
        """Take a line of a Varnish's log; an empty one ends what it says about a request."""
        group = self._groups.setdefault(name, [])
        if text:
            group.append(text)
            return
        for request in requests(group):
            if request.id:
                self._seen[request.id] = request
        group.clear()
        while len(self._seen) > KEPT:
            self._seen.popitem(last=False)

    def nginx(self, text: str, now: float) -> None:
        """Take a line of nginx's log."""
        for line in (*nginx_lines([text]), *classic_lines([text])):
            if self._wanted.has(line):
                self._held.append((now, line))

    def due(self, now: float) -> Iterator[str]:
        """The lines that can be printed now."""
        self._held.sort(key=self._ended)
        waiting = []
        for held in self._held:
            line, age = held[1], now - self._ended(held)
            complete = line.id in self._seen or not of_varnish(line)
            if age > PATIENCE or (age > HELD and complete):
                yield shown(line, explain(line, self._seen.pop(line.id, None)))
            else:
                waiting.append(held)
        self._held = waiting

    def _ended(self, held: tuple[float, Line]) -> float:
        """The time at which a request ended, or an estimate."""
        arrived, line = held
        seen = self._seen.get(line.id)
        return line.ended or (seen.ended if seen else arrived)


def shown(line: Line, explained: Explained) -> str:
    """One request as a line of text."""
    request = f"{line.status} {line.host} {line.method} {line.url}"
    if explained.why:
        request += f"  ({explained.why})"
    times = (explained.total, explained.backend)
    return COLUMNS.format(explained.server, explained.outcome, *map(milliseconds, times), request)


def milliseconds(seconds: float | None) -> str:
    """A time for the table, empty for None."""
    return "" if seconds is None else f"{seconds * 1000:.0f} ms"


class Faults:
    """Says when `make break` has broken something, and when that is mended."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._told = read_note(file)

    def news(self) -> Iterator[str]:
        """Lines about what has changed since the last call."""
        told, note = self._told, read_note(self._file)
        if note is None or note == told:
            return
        self._told = note
        if told is None or note.broken != told.broken:
            yield f"{clock(note.broken)}  BROKEN on purpose: {note.title}. Users see: {note.users}"
        if note.mended:
            yield f"{clock(note.mended)}  MENDED: {note.title}."


def clock(seconds: float) -> str:
    """The time of day, of seconds since 1970."""
    return time.strftime("%H:%M:%S", time.localtime(seconds))


def watch(wanted: Wanted, faults: Faults) -> int:
    """Print until Ctrl-C, or until nginx's log or every Varnish's has ended; return the exit code."""
    lines: queue.Queue[tuple[str, str | None]] = queue.Queue(maxsize=10_000)
    joiner, varnishes = Joiner(wanted), inside("varnishes").split()
    silent = set(varnishes)  # those whose log does not run yet

    def read(name: str, output: IO[str]) -> None:
        for text in output:
            lines.put((name, text.rstrip("\n")))
        lines.put((name, None))

    tools = {name: follow("follow-varnishlog", name, "-g", "request", "-i", TAGS) for name in varnishes}
    tools["nginx"] = follow("follow", "nginx")
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    try:
        for name, tool in tools.items():
            assert tool.stdout
            threading.Thread(target=read, args=(name, tool.stdout), daemon=True).start()
        while True:
            looked = time.time()
            while (left := looked + PAUSE - time.time()) > 0:
                try:
                    name, text = lines.get(timeout=left)
                except queue.Empty:
                    break
                if text is None:
                    print(f"The log of {name} has ended: has the service been stopped?", file=sys.stderr)
                    varnishes = [varnish for varnish in varnishes if varnish != name]
                    if name == "nginx" or not varnishes:
                        return 1
                elif name == "nginx":
                    joiner.nginx(text, time.time())
                elif name in silent:
                    silent.remove(name)
                    if not silent:
                        print(HEADS, flush=True)
                else:
                    joiner.varnish(name, text)
            for row in () if silent else (*faults.news(), *joiner.due(time.time())):
                print(row, flush=True)
    finally:
        for tool in tools.values():
            os.killpg(tool.pid, signal.SIGTERM)
            tool.wait()


if __name__ == "__main__":
    try:
        note = Path(".run", os.environ["COMPOSE_PROJECT_NAME"], "fault.json")
        sys.exit(watch(Wanted(os.environ.get("HOST", ""), os.environ.get("WORD", "")), Faults(note)))
    except NotRunning as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit(0)
    except BrokenPipeError:  # `make watch | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
