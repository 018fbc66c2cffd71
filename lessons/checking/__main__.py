"""The commands of the lessons, for bin/lesson: list, begin NUMBER, check NUMBER|all, learn [NUMBER], reset.

Exit code of `check`: 0 done, 1 not done, 2 the attempt cannot be judged.
"""

import json
import os
import sys
import time

from lessons.lesson import Lesson, gone, lessons
from proscenium.running import REPO

from .errors import StartAgain
from .evidence import Evidence
from .printing import page
from .progress import Progress
from .shipped import restore

ERASE = "\r\033[K"  # erases the line


def main(command: str, number: str = "") -> int:
    """Run one command; return the exit code."""
    progress = Progress(Evidence())
    try:
        code = run(progress, command, number)
    except StartAgain as error:
        print(error, file=sys.stderr)
        code = 2
    if command in ("list", "begin", "check"):
        sys.stdout.flush()
        progress.publish()
    return code


def run(progress: Progress, command: str, number: str) -> int:
    """Run one command; return the exit code. Raise StartAgain."""
    if command == "list":
        return list_lessons(progress)
    if command == "reset":
        return reset(progress)
    if command == "check" and number == "all":
        return print_results(progress)
    if command == "learn":
        if not (sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"):
            without = "Without one: make lesson LESSON=1, make check LESSON=1"
            print(f"make learn needs a terminal. {without}", file=sys.stderr)
            return 2
        from .learn import learn  # the only command that needs a terminal

        return learn(find(number) if number else None)
    return begin(progress, find(number)) if command == "begin" else check(find(number))


def find(number: str) -> Lesson:
    """Return the lesson with that number; a removed one may lead to another. Raise StartAgain without one."""
    found = {lesson.number: lesson for lesson in lessons()}
    wanted = int(number) if number.isdecimal() else 0
    if leads := gone().get(wanted):
        place = leads.get("page") or f"lesson {leads['lesson']}"
        print(f"Lesson {wanted} is a part of {place} now.\n")
        wanted = leads.get("lesson", 0)
    if wanted not in found:
        raise StartAgain("Which lesson? make lessons lists them, with their numbers.")
    return found[wanted]


def list_lessons(progress: Progress) -> int:
    """Print every lesson with its state."""
    for result in progress.results():
        print(f"{result['lesson']:3}  {result['state']:6} {result['title']}")
    print("\nmake learn opens the first one that is not done, watches what you do, and checks by itself.")
    print("Without it: make lesson LESSON=1, make check LESSON=1; a page is lessons/NUMBER-NAME/README.md.")
    return 0


def begin(progress: Progress, lesson: Lesson) -> int:
    """Print the page up to the hint, with the attempt's word and this stack's ports."""
    attempt, note = progress.begin(lesson, bool(os.environ.get("AGAIN")))
    print(f"{page(lesson, attempt)}\n")
    if note:
        print(note)
    if attempt.done:
        print(f"To do it once more: make lesson LESSON={lesson.number} AGAIN=1")
    print(f"The word of this attempt is {attempt.word}. When you are done: make check LESSON={lesson.number}")
    print(f"A hint, and what it means in production: lessons/{lesson.folder.name}/README.md")
    return 0


def check(lesson: Lesson) -> int:
    """Judge the attempt, then the answer in ANSWER; return the exit code. A terminal shows the slow steps."""

    def report(doing: str) -> None:
        if sys.stderr.isatty():
            print(f"{ERASE}{doing and '... '}{doing}", end="", file=sys.stderr, flush=True)

    try:
        finding = Progress(Evidence(report)).check(lesson, os.environ.get("ANSWER", ""))
    finally:
        report("")
    print(finding.text)
    if finding.choices:
        print(f"\nType: make check LESSON={lesson.number} ANSWER=a, b, c or d")
    return 0 if finding.done else 1


def print_results(progress: Progress) -> int:
    """Print every lesson's result: a table, or with JSON=1 a list for grading; return 0 if all are done."""
    results = progress.results()
    if os.environ.get("JSON"):
        print(json.dumps(results, indent=1))
    else:
        for result in results:
            print(f"{result['lesson']:3}  {result['state']:6} {result['title']}")
    return 0 if all(result["state"] == "done" for result in results) else 1


def reset(progress: Progress) -> int:
    """Restore the shipped configuration; keep the learner's changes as a patch."""
    patch = progress.folder / time.strftime("changes-%Y-%m-%d_%H-%M-%S.patch")
    if restore(patch):
        back = f"git apply {patch.relative_to(REPO)}"
        print(f"The shipped configuration is restored. Your changes come back by: {back}")
    else:
        print("The configuration on the disk is as shipped.")
    return 0


if __name__ == "__main__":
    try:
        code = main(*sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as `head`, has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    sys.exit(code)
