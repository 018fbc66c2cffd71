"""Watches for the learner's actions that call for a check: a changed file, a request, a reload, a service."""

import os
import signal
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
WRITTEN = ("compare/report.json", "load/report.json", "fault.json")  # written by load tests and make break


class Watch:
    """Follows the logs of the running stack while it is open; `purges`: any PURGE counts, too."""

    def __init__(self, word: str, state: Path, purges: bool) -> None:
        self._state, self._open = state, True
        self._seen = self._files()
        self._news = threading.Event()
        self._tools: dict[str, Process] = {}
        stack = running()
        self._follow("nginx", partial(stack.follow_log, "nginx"), word)
        self._follow("events", stack.follow_events, "unpause ", "start ", "health_status: healthy")
        for cache in stack.varnishes():
            log = partial(stack.follow_varnishlog, cache, *RAW)
            self._follow(cache, log, word, "vcl.use", "PURGE" if purges else word)

    def __enter__(self) -> "Watch":
        return self

    def __exit__(self, *_: object) -> None:
        self._open = False
        for tool in list(self._tools.values()):
            end(tool)

    def news(self) -> bool:
        """Return whether anything has happened since the last call."""
        before, self._seen = self._seen, self._files()
        happened = self._news.is_set() or before != self._seen
        self._news.clear()
        return happened

    def _files(self) -> dict[Path, int]:
        """Return when each file of the configuration, and of WRITTEN, was last changed."""
        found = [file for folder in CONFIGURATION for file in (REPO / folder).rglob("*")]
        times = {}
        for file in (*found, *(self._state / name for name in WRITTEN)):
            with suppress(FileNotFoundError):
                times[file] = file.stat().st_mtime_ns
        return times

    def _follow(self, name: str, follow: Callable[[], Process], *words: str) -> None:
        """Wait, in a thread, for a line with one of these words."""

        def read() -> None:
            while self._open:
                with suppress(NotRunning):
                    self._tools[name] = tool = follow()
                    if not self._open:
                        end(tool)
                    assert tool.stdout
                    for line in tool.stdout:
                        if any(word in line for word in words):
                            self._news.set()
                    tool.wait()
                self._news.set()  # the service has ended
                time.sleep(PAUSE)

        threading.Thread(target=read, daemon=True).start()


def end(tool: Process) -> None:
    """End a tool with all its processes."""
    with suppress(ProcessLookupError):
        os.killpg(tool.pid, signal.SIGTERM)
    tool.wait()
