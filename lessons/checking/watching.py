"""Whether the learner has done something that calls for a check: a file, a request, a reload, a service."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from proscenium.running import REPO, NotRunning, Process, running

from .shipped import CONFIGURATION

PAUSE = 1.0  # seconds before the log of a service that has ended is read again
RAW = ("-g", "raw", "-i", "ReqURL,ReqMethod,CLI")


class Watch:
    """Follows the logs of the running stack while it is open; `purges`: a PURGE without the word counts."""

    def __init__(self, word: str, state: Path, purges: bool) -> None:
        self._state = state
        self._seen = self._files()
        self._news = threading.Event()
        self._tools: dict[str, subprocess.Popen[str]] = {}
        self._open = True
        stack = running()
        # What to read, and the words to look for.
        sources: dict[str, tuple[Callable[[], Process], tuple[str, ...]]] = {
            "nginx": (partial(stack.follow_log, "nginx"), (word,)),
            "backend": (partial(stack.follow_log, "backend"), ('"cut off"', '"ready"')),
            "events": (stack.follow_events, ("unpause ", "start ", "health_status: healthy")),
        }
        for cache in stack.varnishes():  # they log at once, and nginx a second later
            words = (word, "vcl.use", *(["PURGE"] if purges else []))
            sources[cache] = (partial(stack.follow_varnishlog, cache, *RAW), words)
        for name, (follow, words) in sources.items():
            threading.Thread(target=self._follow, args=(name, follow, words), daemon=True).start()

    def __enter__(self) -> "Watch":
        return self

    def __exit__(self, *_: object) -> None:
        self._open = False
        for tool in list(self._tools.values()):
            end(tool)

    def news(self) -> bool:
        """Whether anything has happened since the last call."""
        files = self._files()
        if files != self._seen:
            self._seen = files
            self._news.set()
        found = self._news.is_set()
        self._news.clear()
        return found

    def _files(self) -> dict[Path, tuple[int, int]]:
        """The configuration, load tests' reports, `make break`'s note: time of the last change, size."""
        found = [file for folder in CONFIGURATION for file in (REPO / folder).rglob("*")]
        found += [self._state / name for name in ("compare/report.json", "load/report.json", "fault.json")]
        stats = {}
        for file in found:
            try:
                stat = file.stat()
            except FileNotFoundError:
                continue
            stats[file] = (stat.st_mtime_ns, stat.st_size)
        return stats

    def _follow(self, name: str, follow: Callable[[], Process], words: tuple[str, ...]) -> None:
        while self._open:
            with suppress(NotRunning):
                self._tools[name] = tool = follow()
                if not self._open:
                    end(tool)
                    return
                assert tool.stdout
                for line in tool.stdout:
                    if any(word in line for word in words):
                        self._news.set()
                end(tool)
            self._news.set()  # the service has ended
            time.sleep(PAUSE)


def end(tool: "subprocess.Popen[str]") -> None:
    """End a tool with all its processes."""
    with suppress(ProcessLookupError):
        os.killpg(tool.pid, signal.SIGTERM)
    tool.wait()
