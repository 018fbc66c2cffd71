"""`make learn`: shows a lesson, watches what the learner does, and checks by itself; then the next."""

import os
import select
import sys
import termios
import textwrap
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from shutil import get_terminal_size
from subprocess import DEVNULL, run

from lessons.lesson import Lesson, lessons
from proscenium.running import REPO, NotRunning

from .attempt import Attempt
from .errors import StartAgain
from .evidence import Evidence
from .printing import BOLD, PLAIN, page, typed
from .progress import Finding, Progress
from .question import LETTERS
from .shipped import CONFIGURATION, changed_files
from .watching import Watch

CALM = 0.5  # seconds without news before a check, so that forty requests cause only one
CLEAR, LINE = "\033[2J\033[H", "\r\033[K"  # clears the screen; clears the line
Keys = Callable[[float], str]  # the input within so many seconds: one key, or ""


def learn(lesson: Lesson | None) -> int:
    """Do lessons, from this one or the first open one, until the learner quits; return the exit code.

    Raise StartAgain.
    """
    state = states()
    lesson = lesson or next((one for one in lessons() if state[one.number] != "done"), None)
    try:
        with keyboard() as keys:
            while lesson:
                lesson = Window(lesson, keys).work()
    except KeyboardInterrupt:
        pass
    except NotRunning as error:
        raise StartAgain(str(error)) from None
    finally:
        say("")
    left = any(state != "done" for state in states().values())
    print("make learn goes on; make lessons lists the lessons." if left else "All lessons are done.")
    return 0


class Window:
    """One lesson, until the learner goes on to the next."""

    def __init__(self, lesson: Lesson, keys: Keys) -> None:
        self.lesson, self._keys = lesson, keys
        self.attempt: Attempt
        self.finding = Finding(False, "")
        self._note = ""
        self._hint = False
        self._judged = False  # whether nothing has happened since the last check

    def work(self) -> Lesson | None:
        """Return the lesson to go on with, or None to quit."""
        again = False
        while True:
            self._begin(again)
            with Watch(self.attempt.word, Evidence().state, purges=not self.lesson.changes) as watch:
                left = self.loop(watch)
            if not isinstance(left, str):
                return left
            again = True

    def loop(self, watch: Watch) -> "Lesson | str | None":
        """Check after each event, and obey keys; return the next lesson, None, or g to begin again."""
        due = True
        while True:
            if watch.news():
                due, self._judged, self._note = not self.finding.done, False, ""
            elif due:
                self.check()
                due = False
            match self._keys(CALM):
                case "q":
                    return None
                case "g":
                    return "g"
                case "n" if self.finding.done:
                    return next((one for one in lessons() if one.number > self.lesson.number), None)
                case "l":
                    if chosen := self._choose():
                        return chosen
                    self.show()
                case "h":
                    self._hint = not self._hint
                    self.show()
                case letter if letter in tuple(LETTERS) and self.finding.choices:
                    self.check(letter)
                    due = False

    def check(self, letter: str = "") -> None:
        """Have the attempt judged, or only the answer if nothing has happened since; show the result."""
        judged, self._judged = self._judged and bool(self.finding.choices), True
        progress = Progress(Evidence(lambda doing: say(f"Checking: {doing} ...")))
        try:
            self.finding = progress.check(self.lesson, letter, judged)
        except StartAgain as error:
            self.finding = Finding(False, str(error))
        self.show()
        progress.publish()

    def show(self) -> None:
        """Show the page, and below it the check's message and the possible keys."""
        done = sum(state == "done" for state in states().values())
        width = min(100, get_terminal_size().columns)
        parts = [page(self.lesson, self.attempt, True, width)]
        if files := sorted(self.lesson.changes | self.lesson.names("edits")):
            parts.append(f"Files of this lesson: {', '.join(files)}")
        if self._hint:
            parts.append(typed(f"**Hint**\n\n{self.lesson.hint}", self.attempt, True, width))
        rule = f"--- {done} of {len(lessons())} lessons are done "
        keys = {"h": "hint", "l": "lessons", "g": "again", "q": "quit"}
        if self.finding.done:
            keys = {"n": "next lesson", **keys}
        elif self.finding.choices:
            keys = {"a b c d": "answer", **keys}
        parts += [rule.ljust(width, "-"), self._note, f"{BOLD}{wrapped(self.finding.verdict, width)}{PLAIN}"]
        parts.append(typed(self.finding.question, self.attempt, True, width))
        parts.append(wrapped(self.finding.listed, width))
        parts.append("   ".join(f"{BOLD}{key}{PLAIN} {what}" for key, what in keys.items()))
        print(CLEAR + "\n\n".join(filter(None, parts)), flush=True)

    def _begin(self, again: bool) -> None:
        """Begin an attempt, or go on with it; a lesson begins with the shipped files."""
        say(f"Starting lesson {self.lesson.number} ...")
        try:
            self.attempt, note = Progress(Evidence()).begin(self.lesson, again)
        except StartAgain:
            if not changed_files(CONFIGURATION):
                raise
            say("Restoring the shipped files and loading them: about 20 seconds ...")
            reset = run(["bin/lesson", "reset"], cwd=REPO, stdin=DEVNULL, capture_output=True, text=True)
            if reset.returncode:
                raise StartAgain(reset.stdout + reset.stderr) from None
            note = reset.stdout.partition("\n")[0]
            self.attempt, _ = Progress(Evidence()).begin(self.lesson, again)
        self._note, self._judged, self.finding = note, False, Finding(False, "")
        self.show()

    def _choose(self) -> Lesson | None:
        """Return a lesson of the list, chosen by its number; None: the learner stays with this one."""
        state, number = states(), ""
        listed = [f"{one.number:3}  {state[one.number]:6} {one.title}" for one in lessons()]
        print(CLEAR + "\n".join(listed) + "\n\nA number and Enter open one; Enter alone goes back.")
        while (key := self._keys(CALM)) not in ("\n", "q"):
            number = number[:-1] if key == "\x7f" else number + key if key.isdecimal() else number
            say(number)
        return next((one for one in lessons() if str(one.number) == number), None)


def states() -> dict[int, str]:
    """Return the state of each lesson, by its number."""
    return {result["lesson"]: result["state"] for result in Progress(Evidence()).results()}


def wrapped(text: str, width: int) -> str:
    """Return a text in lines of that width; its own line breaks stay."""
    return "\n".join(textwrap.fill(line, width, break_long_words=False) for line in text.splitlines())


def say(text: str) -> None:
    """Print one line, which the next one replaces."""
    print(LINE + text, end="", flush=True)


@contextmanager
def keyboard() -> Iterator[Keys]:
    """Yield a function that reads keys immediately, without printing them; it ignores arrows, whose sequences
    contain letters.
    """
    typed = bytearray()

    def key(seconds: float) -> str:
        if not typed and select.select([sys.stdin], [], [], seconds)[0]:
            typed.extend(os.read(sys.stdin.fileno(), 64) or b"q")  # an empty read: the terminal is gone
        if typed[:1] == b"\x1b":
            typed.clear()
        return chr(typed.pop(0)).lower().replace("\r", "\n") if typed else ""

    before = termios.tcgetattr(sys.stdin)
    tty.setcbreak(sys.stdin)
    try:
        yield key
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
