"""A class without containers: its files are real, and the engine's answer is made up."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from lessons.classroom import status
from lessons.classroom.checkout import SERVICES, checks_sum
from lessons.classroom.class_state import ClassState, Entry
from lessons.classroom.engine import Usage
from lessons.classroom.plan import Copy
from lessons.classroom.web import PageServer, answer


def new_class(folder: Path, **environment: str) -> ClassState:
    """A class of two copies, of which the passwords of the second are known."""
    opened = ClassState.new(folder, "x", environment)
    opened.entries = {2: Entry("secret", "other", "sum"), 1: Entry()}
    return opened


class FakeClass:
    """An open class; `asked` counts the questions to the engine."""

    def __init__(self, folder: Path, copies: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.opened = ClassState.new(folder / "class", "x", {})
        unchanged = checks_sum(folder)
        self.opened.entries = {number: Entry(checks=unchanged) for number in range(1, copies + 1)}
        self.opened.save()
        self.asked = 0
        self.stopped: dict[int, str] = {}  # a copy's service that has exited
        monkeypatch.setattr(status, "usage", self.usage)

    def usage(self, copies: list[Copy]) -> dict[int, Usage]:
        self.asked += 1
        found = {}
        for copy in copies:
            services = dict.fromkeys(SERVICES, "healthy")
            if stopped := self.stopped.get(copy.number):
                services[stopped] = "exited"
            found[copy.number] = Usage(services, 145 * 2**20, 0.3)
        return found

    def keep(self, copy: int, lesson: int, minutes: float = 0, **kept: Any) -> None:
        """Write an attempt that began so many minutes ago, as the copy's checks would."""
        planned = self.opened.plan.copy(copy)
        folder = self.opened.folder_of(planned) / ".run" / planned.project / "lessons"
        folder.mkdir(parents=True, exist_ok=True)
        attempt = {"began": time.time() - 60 * minutes, "done": 0, "answers": 0, "attempts": 1} | kept
        (folder / f"{lesson:02}.json").write_text(json.dumps(attempt))

    def finish(self, copy: int, lesson: int, minutes: float = 0) -> None:
        """Write an attempt that was done so many minutes ago."""
        self.keep(copy, lesson, minutes + 10, done=time.time() - 60 * minutes, answers=1)

    def answer(self) -> Any:
        """The page's data."""
        return json.loads(answer(self.opened.folder, {})[1])

    @contextmanager
    def serving(self) -> Iterator[str]:
        """The page on a port of its own; gives its address."""
        with PageServer(0, lambda: answer(self.opened.folder, {})) as server:
            thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
            thread.start()
            try:
                yield f"http://127.0.0.1:{server.server_port}"
            finally:
                server.shutdown()
                thread.join()
