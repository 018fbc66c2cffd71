"""The commands of the lessons: `list`, `begin NUMBER`, `check NUMBER|all`, `reset`. Run by bin/lesson.

Exit code of `check`: 0 done, 1 not done, 2 the attempt cannot be judged.
"""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from logs.inside import REPO

from .attempt import Attempt, Missing
from .judging import judge
from .lesson import Lesson, lessons
from .question import LETTERS
from .stack import CONFIGURATION, Stack, StartAgain, changed_files

STATE = Stack().state / "lessons"


def main(arguments: list[str]) -> int:
    """Run one command; return the exit code."""
    command, number = arguments[0], arguments[1] if len(arguments) > 1 else ""
    try:
        if command == "list":
            return show_list()
        if command == "reset":
            return reset()
        if command == "check" and number == "all":
            return show_results()
        lesson = find(number)
        return begin(lesson) if command == "begin" else check(lesson)
    except StartAgain as error:
        print(error, file=sys.stderr)
        return 2


def find(number: str) -> Lesson:
    """The lesson of that number. Raise StartAgain if there is none."""
    found = {str(lesson.number): lesson for lesson in lessons()}
    if number.lstrip("0") not in found:
        raise StartAgain(f"Which lesson? LESSON=1 to LESSON={len(found)}; make lessons lists them.")
    return found[number.lstrip("0")]


def file_of(lesson: Lesson) -> Path:
    """Where its attempt is kept."""
    return STATE / f"{lesson.number:02}.json"


def state_of(lesson: Lesson) -> str:
    """done, begun or an empty string."""
    attempt = Attempt.load(file_of(lesson), Stack())
    return "" if attempt is None else "done" if attempt.done else "begun"


def show_list() -> int:
    """Print every lesson with its state."""
    for lesson in lessons():
        print(f"{lesson.number:3}  {state_of(lesson):6} {lesson.title}")
    print("\nmake lesson LESSON=1 begins one; its page is lessons/NUMBER-NAME/README.md.")
    return 0


def begin(lesson: Lesson) -> int:
    """Begin an attempt; print the page up to the hint, with the attempt's word and this stack's ports."""
    changed = changed_files(CONFIGURATION)
    if changed:
        raise StartAgain(
            f"Changed since it was shipped: {', '.join(changed)}. A lesson begins with the "
            "shipped configuration: "
            "make lesson RESET=1 restores it and keeps your changes as a patch."
        )
    stack = Stack()
    attempt = Attempt.begin(stack)
    attempt.save(file_of(lesson))
    print(f"Lesson {lesson.number}: {lesson.title}\n\n{lesson.goal}\n")
    for heading in ("Do", "Look"):
        print(f"{heading.upper()}\n{as_typed(lesson.section(heading), attempt)}\n")
    print(f"The word of this attempt is {attempt.word}. When you are done: make check LESSON={lesson.number}")
    print(f"A hint, and what it means in production: lessons/{lesson.folder.name}/README.md")
    return 0


def as_typed(text: str, attempt: Attempt) -> str:
    """Fill in the word and the ports of this stack."""
    text = text.replace("WORD", attempt.word)
    for name, default in (
        ("HTTP_PORT", "8080"),
        ("HTTPS_PORT", "8443"),
        ("LOCUST_PORT", "8089"),
        ("OBSERVE_PORT", "9090"),
    ):
        text = re.sub(rf"(?<=localhost:){default}\b", os.environ[name], text)
    return text


def check(lesson: Lesson) -> int:
    """Judge the attempt, then the answer to the question."""
    attempt = Attempt.load(file_of(lesson), Stack())
    if attempt is None:
        raise StartAgain(f"Lesson {lesson.number} has not begun. Type: make lesson LESSON={lesson.number}")
    if not attempt.done:
        try:
            judge(lesson, attempt)
        except Missing as missing:
            print(f"Not done yet: {missing}")
            return 1
        if not answered(lesson, attempt):
            return 1
        attempt.done = time.time()
        attempt.save(file_of(lesson))
    print(f"Lesson {lesson.number} is done: {lesson.title}.")
    return 0


def answered(lesson: Lesson, attempt: Attempt) -> bool:
    """Ask the question, or judge the answer in ANSWER."""
    question, order = lesson.question(attempt), f"{attempt.word} {attempt.answers}"
    letter = os.environ.get("ANSWER", "")
    if letter:
        try:
            choice = question.chosen(letter, order)
        except ValueError as error:
            raise StartAgain(str(error)) from None
        attempt.answers += 1
        attempt.save(file_of(lesson))
        print(f"{choice.text}\n{'Right' if choice == question.right else 'No'}: {choice.because}\n")
        if choice == question.right:
            return True
        order = f"{attempt.word} {attempt.answers}"
    print(f"What you did is right. One question is left:\n\n{lesson.question_text}\n")
    for name, choice in zip(LETTERS, question.choices(order), strict=True):
        print(f"  {name}) {choice.text}")
    print(f"\nType: make check LESSON={lesson.number} ANSWER=a, b, c or d")
    return False


def show_results() -> int:
    """Print the result of every lesson: a table, or with JSON=1 a list for grading."""
    results = []
    for lesson in lessons():
        attempt = Attempt.load(file_of(lesson), Stack())
        results.append(
            {
                "lesson": lesson.number,
                "title": lesson.title,
                "state": state_of(lesson),
                "began": attempt.began if attempt else None,
                "done": attempt.done or None if attempt else None,
                "answers": attempt.answers if attempt else 0,
            }
        )
    if os.environ.get("JSON"):
        print(json.dumps(results, indent=1))
    else:
        for result in results:
            print(f"{result['lesson']:3}  {result['state']:6} {result['title']}")
    return 0 if all(result["state"] == "done" for result in results) else 1


def reset() -> int:
    """Restore the shipped configuration; keep the learner's changes as a patch."""
    changed = changed_files(CONFIGURATION)
    if changed:
        patch = STATE / time.strftime("changes-%Y-%m-%d_%H-%M-%S.patch")
        git("add", "--intent-to-add", "--", *CONFIGURATION)
        STATE.mkdir(parents=True, exist_ok=True)
        patch.write_text(git("diff", "HEAD", "--", *CONFIGURATION))
        git("reset", "-q", "--", *CONFIGURATION)
        git("checkout", "-q", "HEAD", "--", *CONFIGURATION)
        git("clean", "-qfd", "--", *CONFIGURATION)
        print(f"The shipped configuration is restored. Your changes: {patch.relative_to(REPO)}")
    else:
        print("The configuration on the disk is as shipped.")
    return 0


def git(*arguments: str) -> str:
    """Return what a Git command prints. Raise StartAgain with its message if it fails."""
    done = subprocess.run(["git", *arguments], cwd=REPO, capture_output=True, text=True, check=False)
    if done.returncode:
        raise StartAgain(done.stderr.strip())
    return done.stdout


if __name__ == "__main__":
    try:
        code = main(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    sys.exit(code)
