"""`make watch`: a line for each request of the running stack as it happens, until Ctrl-C. Run by bin/watch.

nginx's log lists all requests, Varnish's log gives the reasons; X-Request-Id joins the two. A worker of nginx
writes its part of the log once a second, so a line is held back until the other workers' lines must have
arrived.
"""

import os
import queue
import signal
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from faults.state import read_state
from proscenium.running import NotRunning, Process, Running, running

from .explaining import Explained, explain, of_varnish
from .serverlogs import Line, nginx_lines
from .varnishlog import Request, requests

HELD = 1.4  # seconds from the end of a request until its line is printed
PATIENCE = 4.0  # seconds to wait for Varnish's records, which are written after the request's fetches
PAUSE = 0.2  # seconds between two checks for lines that are due
STARTING = 1.5  # seconds from the start of a container until its program has a log
KEPT = 2000  # Varnish's requests that nginx has not logged yet; it never logs some of them
TAGS = "Begin,Timestamp,ReqMethod,ReqURL,ReqHeader,VCL_call,VCL_Log,Hit,HitMiss,HitPass,ExpBan,TTL,"
TAGS += "FetchError,RespStatus"
VISITORS = ("anonymous", "identified", "personal")
COLUMNS = "{:<8} {:<13} {:>9} {:>9}  {}"
# Printed once the reading of Varnish's log has begun.
HEADS = COLUMNS.format("SERVER", "HOW", "TOTAL", "BACKEND", "REQUEST")


@dataclass(frozen=True)
class Wanted:
    """A choice of requests: by host, by kind of visitor, by a word in the URL; empty fields choose all."""

    host: str = ""
    visitor: str = ""
    word: str = ""

    def __post_init__(self) -> None:
        if self.visitor not in ("", *VISITORS):
            raise ValueError(f"VISITOR can be {' or '.join(VISITORS)}, not '{self.visitor}'")

    def has(self, line: Line) -> bool:
        """Return whether a request is chosen."""
        return self.host in ("", line.host) and self.visitor in ("", line.visitor) and self.word in line.url


class Joiner:
    """Joins the lines of both logs, and returns them in the order in which the requests ended."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._groups: dict[str, list[str]] = {}  # by the name of the Varnish service
        self._seen: OrderedDict[str, Request] = OrderedDict()
        self._held: list[tuple[float, Line]] = []  # each with the time of its arrival

    def varnish(self, name: str, text: str) -> None:
        """Take a line of a Varnish's log; an empty line ends the record of a request."""
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
        for line in nginx_lines([text]):
            if self._wanted.has(line):
                self._held.append((now, line))

    def due(self, now: float) -> Iterator[str]:
        """Yield the lines that can be printed now."""
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
        """Return the time at which a request ended, or an estimate."""
        arrived, line = held
        seen = self._seen.get(line.id)
        return line.ended or (seen.ended if seen else arrived)


def shown(line: Line, explained: Explained) -> str:
    """Return one request as a line of text."""
    request = f"{line.status} {line.host} {line.method} {line.url}"
    if explained.why:
        request += f"  ({explained.why})"
    times = ("" if s is None else f"{s * 1000:.0f} ms" for s in (explained.total, explained.backend))
    return COLUMNS.format(explained.server, explained.outcome, *times, request)


class Faults:
    """Reports when `make break` has broken the stack, and when it is repaired."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._told = read_state(file)

    def news(self) -> Iterator[str]:
        """Yield lines about the changes since the last call."""
        told, note = self._told, read_state(self._file)
        if note is None or note == told:
            return
        self._told = note
        if told is None or note.broken != told.broken:
            yield f"{clock(note.broken)}  BROKEN on purpose: {note.title}. Users see: {note.users}"
        if note.mended:
            yield f"{clock(note.mended)}  MENDED: {note.title}."


def happened(event: str) -> str:
    """Return what has happened to a service, as text; empty for the engine's other events."""
    action, _, service = event.rpartition(" ")
    known = not (service.startswith("varnish") and action in ("die", "start")) and action in EVENTS
    return f"{service} {EVENTS[action]}" if known else ""


def clock(seconds: float) -> str:
    """Return the time of day, from seconds since 1970."""
    return time.strftime("%H:%M:%S", time.localtime(seconds))


Lines = queue.Queue[tuple[str, str | None]]
# Lines by which varnishlog reports that Varnish has started another worker, and their replacements.
SAID = {"Log abandone": None, "Failed to ac": None, "Log reacquir": ""}
# The engine's events of a container, as text. Varnish's own log shows when it has stopped and is back.
EVENTS = {
    "die": "has stopped",
    "start": "is back",
    "pause": "is frozen",
    "unpause": "goes on",
    "health_status: unhealthy": "is unhealthy",
    "health_status: healthy": "is healthy",
}


class Reader(threading.Thread):
    """Puts the lines that a tool prints into a queue, as (name, line), and None when the log has ended.

    Afterwards it waits until the service is back. varnishlog itself notices another worker of Varnish.
    """

    def __init__(self, name: str, stack: Running, follow: Callable[[], Process], lines: Lines) -> None:
        super().__init__(daemon=True)
        self._name, self._stack, self._follow, self._lines = name, stack, follow, lines
        self._process: Process | None = None
        self._ended = False
        self.start()

    def run(self) -> None:
        """Read as long as the program runs."""
        while True:
            with suppress(NotRunning):  # the tool may end again immediately
                self._process = self._follow()
                if self._ended:
                    self.end()
                    return
                assert self._process.stdout
                for text in self._process.stdout:
                    self._lines.put((self._name, SAID.get(text[:12], text.rstrip("\n"))))
                self._process.wait()
            self._lines.put((self._name, None))
            while not self._is_back():
                time.sleep(PAUSE)
            time.sleep(STARTING)

    def _is_back(self) -> bool:
        try:
            return self._name in self._stack.services()
        except NotRunning:
            return False

    def end(self) -> None:
        """End the tool, unless it has already ended."""
        self._ended = True
        if self._process:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGTERM)
            self._process.wait()


def watch(wanted: Wanted, faults: Faults) -> int:
    """Print lines until Ctrl-C; return the exit code."""
    lines: Lines = queue.Queue(maxsize=10_000)
    joiner, begun = Joiner(wanted), False
    stack = running()
    away = set(stack.varnishes(stopped=True))  # the Varnish services whose logs are not being read
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    logs: dict[str, Callable[[], Process]] = {
        name: partial(stack.follow_varnishlog, name, "-g", "request", "-i", TAGS) for name in away
    }
    logs |= {"nginx": partial(stack.follow_log, "nginx"), "events": stack.follow_events}
    readers = [Reader(name, stack, follow, lines) for name, follow in logs.items()]
    try:
        while True:
            looked = time.time()
            while (left := looked + PAUSE - time.time()) > 0:
                try:
                    name, text = lines.get(timeout=left)
                except queue.Empty:
                    break
                if name == "nginx":
                    joiner.nginx(text or "", time.time())
                elif name == "events":
                    if said := happened(text or ""):
                        print(f"{clock(time.time())}  {said}.", flush=True)
                elif text is None:
                    if name not in away:
                        print(f"{clock(time.time())}  {name} has stopped.", flush=True)
                    away.add(name)
                elif name in away:
                    away.remove(name)
                    if begun:
                        print(f"{clock(time.time())}  {name} is back.", flush=True)
                    elif not away:
                        print(HEADS, flush=True)
                        begun = True
                else:
                    joiner.varnish(name, text)
            for row in (*faults.news(), *joiner.due(time.time())) if begun else ():
                print(row, flush=True)
    finally:
        for reader in readers:
            reader.end()


if __name__ == "__main__":
    try:
        note = Path(".run", os.environ["COMPOSE_PROJECT_NAME"], "fault.json")
        wanted = Wanted(*(os.environ.get(name, "") for name in ("HOST", "VISITOR", "WORD")))
        sys.exit(watch(wanted, Faults(note)))
    except (NotRunning, ValueError) as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit(0)
    except BrokenPipeError:  # `make watch | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
