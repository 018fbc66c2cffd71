"""`make learn`: one window that prints a lesson, watches what the learner does, and checks by itself.

Keys answer the question, print the hint, restore the files, and go on to the next lesson.
"""

import contextlib
import os
import select
import shutil
import subprocess
import sys
import termios
import textwrap
import threading
import time
import tty
from collections.abc import Iterator

from logs.inside import REPO

from .attempt import Attempt
from .errors import StartAgain
from .lesson import Lesson, as_typed, lessons
from .progress import Finding, Progress, failure
from .question import LETTERS
from .shipped import CONFIGURATION, changed_files
from .stack import Stack
from .watching import Watch

PAUSE = 0.2  # seconds between two looks
CALM = 0.5  # seconds without news before a check: forty requests are one reason
BOLD, DIM, PLAIN = "\033[1m", "\033[2m", "\033[0m"
ERASE = "\r\033[J"  # from here to the end of the screen


def learn(progress: Progress, lesson: Lesson | None) -> int:
    """Do lessons, from this one or the first that is not done, until the learner quits. Return the exit code.

    Raise StartAgain.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise StartAgain(
            "make learn needs a terminal. Without one: make lesson LESSON=1, make check LESSON=1"
        )
    with single_keys():
        while lesson := lesson or next((one for one in lessons() if progress.state(one) != "done"), None):
            if not Window(lesson).work():
                return 0
            lesson = next((one for one in lessons() if one.number > lesson.number), None)
    print("All lessons are done.")
    return 0


@contextlib.contextmanager
def single_keys() -> Iterator[None]:
    """Read keys at once and without printing them; Ctrl-C works."""
    before = termios.tcgetattr(sys.stdin)
    tty.setcbreak(sys.stdin)
    try:
        yield
    except KeyboardInterrupt:
        print()
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def pressed() -> str:
    """The key that is waiting, in lower case; after PAUSE an empty string."""
    ready, _, _ = select.select([sys.stdin], [], [], PAUSE)
    return os.read(sys.stdin.fileno(), 1).decode(errors="replace").lower() if ready else ""


class Window:
    """One lesson: its text, and below it a few lines that are written anew when something has changed."""

    def __init__(self, lesson: Lesson) -> None:
        self._lesson = lesson
        self._doing = ""  # what the check that runs is doing
        self._finding = Finding(False, "")
        self._shown = ""  # the lower part
        self._lines = 0  # of it, as it is on the screen

    def work(self) -> bool:
        """Return when the learner goes on (True) or quits (False)."""
        again = False
        while True:
            try:
                attempt = self._begin(again)
            except StartAgain:
                if not changed_files(CONFIGURATION):
                    raise
                print(f"\n{run('reset')}")  # a lesson begins with the shipped files
                attempt = self._begin(again)
            with Watch(attempt.word, attempt.stack.state) as watch:
                key = self._until_a_key(attempt, watch)
            if key != "g":
                print()
                return key == "n"
            again = True

    def _begin(self, again: bool) -> Attempt:
        """Print the page."""
        attempt, note = Progress(Stack()).begin(self._lesson, again)
        lesson = self._lesson
        print(f"\n{BOLD}Lesson {lesson.number}: {lesson.title}{PLAIN}\n\n{as_typed(lesson.goal, attempt)}\n")
        for heading in ("Do", "Look"):
            print(f"{BOLD}{heading}{PLAIN}\n\n{as_typed(lesson.section(heading), attempt)}\n")
        if note:
            print(f"{DIM}{note}{PLAIN}\n")
        self._shown, self._lines, self._finding = "", 0, Finding(False, "")
        publish()
        return attempt

    def _until_a_key(self, attempt: Attempt, watch: Watch) -> str:
        """Check whenever there is news. Return g (again), n (next) or q (quit)."""
        check: threading.Thread | None = None
        due: float | None = time.monotonic()  # when to check; None: not until there is news
        letter = ""  # the answer for the next check
        answering = False  # the check that runs has one: after a wrong one the choices have another order
        while True:
            key = pressed()
            if watch.news() and not self._finding.done:
                due = time.monotonic() + CALM
            if check and not check.is_alive():
                check = None
                publish()
            if not check and due and time.monotonic() >= due:
                check = threading.Thread(target=self._check, args=(letter,), daemon=True)
                check.start()
                answering, due, letter = bool(letter), None, ""
            if key in ("g", "q") or (key == "n" and self._finding.done):
                return key
            if key == "h":
                self._print(as_typed(self._lesson.hint, attempt))
            elif key == "r":
                self._print(run("reset"))
            elif key and key in LETTERS and self._finding.asked and not (check and answering):
                letter, due = key, time.monotonic()
            last = f"checking: {self._doing}" if check else self._keys()
            self._show(f"{self._finding.text}\n\n{DIM}{last}{PLAIN}".lstrip())

    def _report(self, doing: str) -> None:
        self._doing = doing

    def _check(self, letter: str) -> None:
        try:
            self._finding = Progress(Stack(self._report)).check(self._lesson, letter)
        except StartAgain as error:
            self._finding = Finding(False, str(error))
        except Exception as error:  # it must not leave the verdict of an earlier check standing
            self._finding = Finding(False, failure(error))

    def _keys(self) -> str:
        """What can be typed now."""
        if self._finding.done:
            return "n next lesson   q quit"
        answers = "a b c d answer   " if self._finding.asked else ""
        return f"{answers}h hint   r restore the shipped files   g begin again   q quit"

    def _show(self, text: str) -> None:
        """Replace the lower part."""
        if text == self._shown:
            return
        width = shutil.get_terminal_size().columns - 1
        lines = [part for line in text.splitlines() for part in textwrap.wrap(line, width) or [""]]
        above = f"\033[{self._lines - 1}A" if self._lines > 1 else ""
        print(f"{above}{ERASE}" + "\n".join(lines), end="", flush=True)
        self._shown, self._lines = text, len(lines)

    def _print(self, text: str) -> None:
        """Print above the lower part."""
        self._show("")
        print(f"{text}\n")
        self._shown, self._lines = "", 0


def run(*command: str) -> str:
    """What another command of bin/lesson prints."""
    done = subprocess.run(
        ["bin/lesson", *command],
        cwd=REPO,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return (done.stdout + done.stderr).strip()


def publish() -> None:
    """Have the pages of the lessons updated, without waiting for it."""
    subprocess.Popen(
        ["bin/lesson", "publish"],
        cwd=REPO,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
