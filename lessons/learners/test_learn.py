"""`make learn` in a terminal: one window from the first line of a lesson to the next lesson."""

import os
import pty
import re
import signal
import subprocess
import termios
import threading
from collections.abc import Iterator

import pyte
import pytest

from lessons.learners.school import Learner
from tests.stack import REPO
from tests.support.wait import wait_until

RIGHT = "43200 "  # how the right answer begins

COLUMNS, LINES = 110, 60


class Terminal:
    """A program in a terminal of its own, and what is on its screen now."""

    def __init__(self, *command: str, folder: str, environment: dict[str, str]) -> None:
        self._ours, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (LINES, COLUMNS))
        self.program = subprocess.Popen(
            command,
            cwd=folder,
            env={**environment, "TERM": "xterm-256color"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self._screen = pyte.Screen(COLUMNS, LINES)
        self._lock = threading.Lock()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        stream = pyte.ByteStream(self._screen)
        while True:
            try:
                data = os.read(self._ours, 65536)
            except OSError:
                return
            with self._lock:
                stream.feed(data)

    @property
    def text(self) -> str:
        """All that is on the screen, a line break as one space."""
        with self._lock:
            return re.sub(r"\s+", " ", "\n".join(self._screen.display))

    def wait_for(self, sentence: str) -> None:
        """Wait until a sentence is on the screen."""
        wait_until(lambda: re.search(sentence, self.text), within=60, report=lambda: self.text)

    def press(self, key: str) -> None:
        """One key."""
        os.write(self._ours, key.encode())

    def close(self) -> None:
        if self.program.poll() is None:
            os.killpg(self.program.pid, signal.SIGTERM)
        self.program.wait(60)


@pytest.fixture
def terminal(learner: Learner) -> Iterator[Terminal]:
    learner.begin(1)
    if not (learner.folder / ".venv").exists():
        (learner.folder / ".venv").symlink_to(REPO / ".venv")  # as a copy of a class has it
    terminal = Terminal(
        "make", "learn", "LESSON=1", folder=str(learner.folder), environment=learner.stack.environment
    )
    yield terminal
    terminal.close()


def test_a_lesson_from_its_first_line_to_the_next(learner: Learner, terminal: Terminal) -> None:
    terminal.wait_for("Not done yet: You have not requested /media/fox.svg")
    assert f"/media/fox.svg?{learner.word}" in terminal.text
    assert "Traceback" not in terminal.text
    learner.get("/media/fox.svg?WORD")
    terminal.wait_for("One request was a miss. Request the same URL again")
    learner.do_lesson_1()
    terminal.wait_for("One question is left.*a b c d answer")
    assert "Lesson 1: First hit" in terminal.text  # the task is still there
    terminal.press("h")
    terminal.wait_for("Hint Age is the time since the copy was made")

    [right] = re.findall(rf" ([a-d]) {RIGHT}", terminal.text)
    terminal.press("abcd".replace(right, "")[0])  # a wrong answer, after which the choices have another order
    terminal.wait_for("No: .*One question is left.*a b c d answer")
    [right] = re.findall(rf" ([a-d]) {RIGHT}", terminal.text)
    terminal.press(right)
    terminal.wait_for(r"Lesson 1 is done: First hit\..*n next lesson")
    terminal.press("l")
    terminal.wait_for("> 1 done First hit 2 .*Enter open")
    terminal.press("2\r")
    terminal.wait_for("Lesson 2: How long is fresh.*(in use is the shipped one|You have not requested)")

    learner.edit("varnish/media.vcl", "ttl = 12h", "ttl = 60s")
    terminal.wait_for("is saved, but Varnish has not loaded it|do that before you change the rule")
    terminal.press("r")
    terminal.wait_for("Restoring the shipped files and loading them")
    terminal.wait_for("The shipped configuration is restored")
    learner.edited = False
    terminal.press("q")
    assert terminal.program.wait(60) == 0


def test_without_a_terminal(learner: Learner) -> None:
    code, said = learner.run("bin/lesson", "learn", "1")
    assert (code, "make learn needs a terminal" in said) == (2, True)
