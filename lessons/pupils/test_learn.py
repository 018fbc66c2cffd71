"""`make learn` in a terminal: one window from the first line of a lesson to the next lesson."""

import os
import pty
import re
import signal
import subprocess
import threading
from collections.abc import Iterator

import pytest

from school import Pupil
from support.wait import wait_until
from test_lesson_01 import RIGHT, do

CODES = re.compile(r"\x1b\[[\d;]*[A-Za-z]")


def flat(text: str) -> str:
    """Without colours, a line break as one space."""
    return re.sub(r"\s+", " ", CODES.sub("", text))


class Terminal:
    """A program in a terminal of its own."""

    def __init__(self, *command: str, folder: str, environment: dict[str, str]) -> None:
        self._ours, theirs = pty.openpty()
        self.program = subprocess.Popen(
            command,
            cwd=folder,
            env={**environment, "COLUMNS": "110", "LINES": "40"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self._text = ""
        self._mark = 0
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._ours, 65536)
            except OSError:
                return
            self._text += data.decode(errors="replace")

    @property
    def text(self) -> str:
        """All that was printed."""
        return flat(self._text)

    def wait_for(self, sentence: str, within: float = 20) -> None:
        """Wait until a sentence is printed, after the last key or the last sentence that was waited for."""
        wait_until(lambda: re.search(sentence, flat(self._text[self._mark :])), within=within)
        self._mark = len(self._text)

    def press(self, key: str) -> None:
        """One key."""
        self._mark = len(self._text)
        os.write(self._ours, key.encode())

    def close(self) -> None:
        if self.program.poll() is None:
            os.killpg(self.program.pid, signal.SIGTERM)
        self.program.wait(20)


@pytest.fixture
def terminal(pupil: Pupil) -> Iterator[Terminal]:
    pupil.begin(1)
    terminal = Terminal(
        "make", "learn", "LESSON=1", folder=str(pupil.folder), environment=pupil.stack.environment
    )
    yield terminal
    terminal.close()


def test_a_lesson_from_its_first_line_to_the_next(pupil: Pupil, terminal: Terminal) -> None:
    terminal.wait_for("Not done yet: You have not requested /media/fox.svg")
    assert pupil.word in terminal.text
    pupil.get("/media/fox.svg?WORD")
    terminal.wait_for("One request was a miss. Request the same URL again")
    do(pupil)
    terminal.wait_for("One question is left.*a b c d answer")
    terminal.press("h")
    terminal.wait_for("`Age` is the time since the copy was made")

    right = re.findall(rf" ([a-d])\) {RIGHT}", terminal.text)[-1]
    terminal.press("abcd".replace(right, "")[0])  # a wrong answer, after which the choices have another order
    terminal.wait_for("No: .*One question is left.*a b c d answer")
    terminal.press(re.findall(rf" ([a-d])\) {RIGHT}", terminal.text)[-1])
    terminal.wait_for(r"Lesson 1 is done: First hit\..*n next lesson")
    terminal.press("n")
    terminal.wait_for("Lesson 2: How long is fresh.*in use is the shipped one|You have not requested")

    pupil.edit("varnish/media.vcl", "ttl = 12h", "ttl = 60s")
    terminal.wait_for("is saved, but Varnish has not loaded it|do that before you change the rule")
    terminal.press("r")
    terminal.wait_for("The shipped configuration is restored")
    pupil.edited = False
    terminal.press("q")
    assert terminal.program.wait(20) == 0


def test_without_a_terminal(pupil: Pupil) -> None:
    done = subprocess.run(
        ["bin/lesson", "learn", "1"],
        cwd=pupil.folder,
        env=pupil.stack.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, "make learn needs a terminal" in done.stderr) == (2, True)
