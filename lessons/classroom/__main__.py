"""The commands for a class: `open N`, `status`, `page`, `judge WHO`, `reset WHO`, `down`. Run by bin/class.

`check COMMAND ...` runs none: it only says what is wrong with the number and the settings.
"""

import os
import subprocess
import sys

from lessons.classroom.checkout import REPO, environment, make_checkout, put_aside
from lessons.classroom.class_state import ClassState
from lessons.classroom.engine import Commands, EngineError, handle_interrupts, remove
from lessons.classroom.opening import log_of, open_class, side_by_side, start
from lessons.classroom.plan import PAGE_PORT, PlanError, count, parse_number
from lessons.classroom.status import as_csv, as_json, as_table, states
from lessons.classroom.web import serve

FOLDER = REPO / ".run" / "class"


def main(arguments: list[str]) -> int:
    """Run one command; return the exit code."""
    check = arguments[0] == "check"
    command, value, *_ = *arguments[check:], ""
    handle_interrupts()
    try:
        opened = ClassState.load(FOLDER, os.environ)
        if command == "open":
            number = parse_number("N", value)
            opened = opened or ClassState.new(FOLDER, os.environ["COMPOSE_PROJECT_NAME"], os.environ)
            opened.plan.copy(number)  # there are ports and addresses for the last one
            return 0 if check else open_class(opened, number)
        number = parse_number("WHO", value) if command in ("judge", "reset") else 0
        given = os.environ.get("CLASS_PAGE_PORT") or str(PAGE_PORT)
        port = parse_number("CLASS_PAGE_PORT", given, 65535, PAGE_PORT) if command == "page" else 0
        if check:
            return 0
        if opened is None:
            said = "No class is open. Type: make class N=20"
            if command != "down":
                raise PlanError(said)
            print(said)
            return 0
        if command == "status":
            form = as_csv if os.environ.get("CSV") else as_json if os.environ.get("JSON") else as_table
            return show(form(states(opened)))
        if command == "page":
            return serve(FOLDER, os.environ, port)
        if command == "down":
            return close(opened)
        if number not in opened.entries:
            raise PlanError(f"There is no copy {number}; make class-status lists them.")
        return reset(opened, number) if command == "reset" else judge(opened, number)
    except (PlanError, EngineError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return 130


def show(text: str) -> int:
    """Print a text, whose reader, such as `head`, may have seen enough before its end."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def judge(opened: ClassState, number: int) -> int:
    """Judge an attempt in a copy by this checkout's own checker, whatever the copy's has become.

    That at LESSON, or the newest. Exit code 1 if it is not right.
    """
    copy = opened.plan.copy(number)
    folder = opened.folder_of(copy)
    begun = (folder / ".run" / copy.project / "lessons").glob("[0-9][0-9].json")
    newest = max(begun, key=lambda file: file.stat().st_mtime, default=None)
    if newest is None:
        raise PlanError(f"Copy {number} has not begun any lesson.")
    lesson = os.environ.get("LESSON") or newest.stem
    settings = environment(os.environ) | opened.environment_of(copy) | {"JUDGED_CHECKOUT": str(folder)}
    return subprocess.run(["bin/lesson", "judge", lesson], cwd=REPO, env=settings).returncode


def reset(opened: ClassState, number: int) -> int:
    """Restore a copy's files, data and lessons as shipped. Its passwords stay; its old files are set
    aside."""
    copy = opened.plan.copy(number)
    folder = opened.folder_of(copy)
    print(f"Removing the stack of copy {copy.name} and starting it again", flush=True)
    remove(copy)
    before = put_aside(folder) if folder.exists() else None
    make_checkout(opened, copy)
    opened.save()
    if before:
        # The learner's account owns the folder, if the teacher has given it to one.
        subprocess.run(["chown", "-R", f"--reference={before}", str(folder)], check=False)
    try:
        start(opened, copy, Commands())
    except EngineError as error:
        log = log_of(copy).relative_to(REPO)
        raise EngineError(
            f"Copy {number} did not start: {error}\n(All that `make up` printed: {log})"
        ) from None
    print(f"Copy {copy.name} is as shipped again, with its old passwords.")
    if before:
        print(f"The old files: {before.relative_to(REPO)}, until the next reset")
    return 0


def close(opened: ClassState) -> int:
    """Remove every copy's stack and data; keep the folders until the next class is closed."""
    results = as_json(states(opened))
    left = []
    for outcome in side_by_side(opened.copies, remove):
        name = f"copy {outcome.copy.name}"
        if outcome.reason:
            left.append(f"{name}: {outcome.reason}")
        else:
            print(f"  {name} is removed ({outcome.seconds:.0f} s)", flush=True)
    if left:
        raise EngineError("\n".join([*left, "Some stacks are not removed. Try it again: make class-down"]))
    (opened.folder / "results.json").write_text(results + "\n")
    closed = put_aside(opened.folder)
    print(
        f"{count(len(opened.copies), 'stack and its data are', 'stacks and their data are')} removed. "
        "The learners' files, the handout and the "
        f"results: {closed.relative_to(REPO)}, until the next class is closed"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
