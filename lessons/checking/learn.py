"""`make learn`: one window that shows a lesson, watches what the learner does, and checks by itself.

All that happens is an event. One loop takes them, changes the view (screen.py) and draws it (terminal.py).
"""

import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from subprocess import DEVNULL, PIPE, STDOUT, run

from proscenium.running import REPO

from .attempt import Attempt
from .errors import StartAgain
from .evidence import Evidence
from .lesson import Lesson, filled, lessons
from .progress import Finding, Progress, failure
from .question import LETTERS
from .screen import View
from .shipped import CONFIGURATION, changed_files
from .terminal import Terminal
from .watching import Watch

CALM = 0.5  # seconds without news before a check: forty requests are one reason
MOVES = {"up": -1, "down": 1, "pageup": -10, "pagedown": 10}
END = 10**6  # an offset: as far down as it goes


@dataclass(frozen=True)
class Event:
    """Something has happened: what is set says what. None: the learner has done what calls for a check."""

    key: str = ""  # that the learner has pressed
    doing: str = ""  # what the check that runs does now
    finding: Finding | None = None  # of the check that has ended


def learn(lesson: Lesson | None) -> int:
    """Do lessons, from this one or the first that is not done, until the learner quits. Return the exit code.

    Raise StartAgain.
    """
    terminal = Terminal()
    states = [state for _, state in course()]
    lesson = lesson or next((one for one in lessons() if states[one.number - 1] != "done"), None)
    try:
        with suppress(KeyboardInterrupt), terminal.open():
            while lesson:
                lesson = Window(lesson, terminal).work()
    except StartAgain:
        raise
    except Exception as error:
        raise StartAgain(failure(error)) from error
    left = [title for title, state in course() if state != "done"]
    print("make learn goes on; make lessons lists the lessons." if left else "All lessons are done.")
    return 0


class Window:
    """One lesson, until the learner goes on to another."""

    def __init__(self, lesson: Lesson, terminal: Terminal) -> None:
        self.lesson, self._terminal = lesson, terminal
        self.view = View(lesson.number, course())
        self.events = SimpleQueue[Event]()  # of the check's thread
        self._hint = ""
        self._typed = ""  # the number of a lesson
        self._next: Lesson | None = None
        self._due: float | None = None  # when to check; None: not until there is news
        self._letter = ""  # the answer for the next check
        self._running = ""  # a check runs: `check`, or `answer`, which may change the order of the choices
        self._judged = False  # nothing has happened since the last check began

    def work(self) -> Lesson | None:
        """Return the lesson to go on with, or None."""
        threading.excepthook = self._failed
        key = ""
        while key in ("", "g"):
            attempt = self._begin(key == "g")
            with Watch(attempt.word, Evidence().state, purges=not self.lesson.changes) as watch:
                while not (key := self.turn(watch)):
                    pass
        return self._next

    def _begin(self, again: bool) -> Attempt:
        """Show the page of the attempt."""
        self.view = View(self.lesson.number, course())
        self.events, self._running = SimpleQueue(), ""  # a check of the attempt before may not have ended
        self._wait(f"Starting lesson {self.lesson.number} ...")
        try:
            attempt, note = Progress(Evidence()).begin(self.lesson, again)
        except StartAgain:
            if not changed_files(CONFIGURATION):
                raise
            self._restore()  # a lesson begins with the shipped files
            attempt, note = Progress(Evidence()).begin(self.lesson, again)
        note = self.view.note or note
        self.view = View(self.lesson.number, course(), page(self.lesson, attempt), note=note)
        self.view.files = tuple(sorted(self.lesson.changes | self.lesson.names("edits")))
        self._hint = filled(self.lesson.hint, attempt)
        self._due, self._letter, self._judged = time.monotonic(), "", False
        self._go_on()
        publish()
        return attempt

    def _restore(self) -> None:
        self._wait("Restoring the shipped files and loading them: about 20 seconds ...")
        done = run(["bin/lesson", "reset"], cwd=REPO, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, text=True)
        self.view.note = done.stdout.strip() if done.returncode else done.stdout.partition("\n")[0]

    def _wait(self, busy: str) -> None:
        self.view.busy = busy
        self._terminal.show(self.view)

    def _go_on(self) -> None:
        self._terminal.forget()
        self._wait("")

    def turn(self, watch: Watch) -> str:
        """One turn of the loop. Return g (again), n (another lesson) or q (quit) to leave it."""
        changed = self._terminal.resized()
        for event in self._happened(watch):
            changed = True
            if key := self._handle(event):
                return key
        if self._due and not self._running and time.monotonic() >= self._due:
            self._check()
        if changed:
            self.view.offset = self._terminal.show(self.view)
        return ""

    def _happened(self, watch: Watch) -> Iterator[Event]:
        yield from map(Event, self._terminal.keys())
        if watch.news():
            yield Event()
        while not self.events.empty():
            yield self.events.get()

    def _handle(self, event: Event) -> str:
        if event.key:
            return self._in_list(event.key) if self.view.chosen else self._in_page(event.key)
        if event.doing:
            self.view.busy = f"Checking: {event.doing} ..."
        elif event.finding:
            self._running = self.view.busy = ""
            self.view.finding, self.view.course = event.finding, course()
            publish()
        else:
            self._judged = False
            if not self.view.finding.done:
                self._due = time.monotonic() + CALM
        return ""

    def _in_page(self, key: str) -> str:
        view = self.view
        view.note = ""
        if key == "h":
            view.hint, view.offset = ("", view.offset) if view.hint else (self._hint, END)
        elif key == "l":
            view.chosen = view.lesson
        elif key == "r":
            self._restore()
            self._go_on()
        elif key == "n" and view.finding.done:
            self._next = next((one for one in lessons() if one.number > view.lesson), None)
            return key
        elif key in tuple(LETTERS) and view.finding.choices and self._running != "answer":
            self._letter, self._due = key, time.monotonic()
        view.offset += MOVES.get(key, 0)
        return key if key in ("g", "q") else ""

    def _in_list(self, key: str) -> str:
        view = self.view
        self._typed = self._typed + key if key.isdecimal() else ""
        if self._typed:
            if int(self._typed) > len(view.course):
                self._typed = key
            view.chosen = int(self._typed) or view.chosen
        elif key == "enter":
            self._next = lessons()[view.chosen - 1]
            return "n"
        elif key in ("l", "q", "\x1b"):
            view.chosen = 0
        elif key in MOVES:
            view.chosen = max(1, min(view.chosen + MOVES[key], len(view.course)))
        return ""

    def _check(self) -> None:
        judged, letter = self._judged and bool(self.view.finding.choices), self._letter
        self._running, self._due, self._letter, self._judged = "answer" if letter else "check", None, "", True
        self.events.put(Event(doing="your answer" if judged else "what has happened"))
        threading.Thread(target=self.check, args=(letter, judged), daemon=True).start()

    def check(self, letter: str, judged: bool) -> None:
        """Have the attempt judged."""
        events = self.events
        try:
            evidence = Evidence(lambda what: events.put(Event(doing=what)))
            finding = Progress(evidence).check(self.lesson, letter, judged)
        except StartAgain as error:
            finding = Finding(False, str(error))
        events.put(Event(finding=finding))

    def _failed(self, thread: threading.ExceptHookArgs) -> None:
        """No traceback over the page, and no verdict of an earlier check that stays."""
        if isinstance(thread.exc_value, Exception):
            self.events.put(Event(finding=Finding(False, failure(thread.exc_value))))


def course() -> list[tuple[str, str]]:
    """The title and the state of each lesson."""
    return [(result["title"], result["state"]) for result in Progress(Evidence()).results()]


def page(lesson: Lesson, attempt: Attempt) -> str:
    """What the window shows of a lesson's page."""
    parts = [lesson.goal]
    for heading in ("Do", "Look"):
        parts += [f"**{heading}**", lesson.section(heading)]
    return filled("\n\n".join(parts), attempt)


def publish() -> None:
    """Have the pages of the lessons updated, without waiting for it."""
    threading.Thread(target=Progress(Evidence()).publish).start()
