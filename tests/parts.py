"""Runs the parts of the tests (tests/parts.toml) for bin/test: `tests.parts quick|slow SECONDS STATE`.

SECONDS have passed since the command was typed, and STATE is a checksum of the files. The variables are those
of `make help test-all`. Without arguments ONLY is checked, and nothing runs.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

PARTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
KNOWN = PARTS["only"] + PARTS["slow"]
PATHS = PARTS["paths"]
RECORD = Path(".run/passed")
TERMINAL = sys.stdout.isatty() and sys.stderr.isatty() and not os.environ.get("NO_COLOR")
BOLD, DIM, RED, OFF = ("\033[1m", "\033[2m", "\033[31m", "\033[0m") if TERMINAL else [""] * 4


def chosen(only: str) -> list[str]:
    """Return the parts of ONLY. Exit if one is unknown."""
    parts = only.replace(",", " ").split()
    for part in (part for part in parts if part not in KNOWN):
        if code := subprocess.run(["bash", "bin/gone", f"ONLY={part}"]).returncode:
            sys.exit(code)
        sys.exit(f"{RED}ONLY names '{part}'; the parts are: {' '.join(KNOWN)}.{OFF}")
    if not parts:
        sys.exit(f"{RED}ONLY names no part; the parts are: {' '.join(KNOWN)}.{OFF}")
    return parts


def paths(word: str) -> list[str]:
    """Return the paths that a word of parts.toml stands for."""
    return [path for each in PATHS[word] for path in paths(each)] if word in PATHS else [word]


def arguments(part: str) -> list[str]:
    """Return pytest's arguments for a part."""
    found: list[str] = []
    if processes := PARTS["processes"].get(part):
        number = (len(os.sched_getaffinity(0)) + processes["more"]) // processes["share"]
        found += ["-n", str(number), "--dist", processes["dist"]]
    for word in PATHS[part]:
        left_out = [f"--ignore={path}" for path in paths(word[1:])]
        found += left_out if word.startswith("!") else paths(word)
    return [*found, *PARTS["options"].get(part, [])]


def record(state: str, part: str = "", passed: bool = False) -> list[str]:
    """Record a part's result; return the parts of `make test-all` that have passed on these files."""
    RECORD.parent.mkdir(exist_ok=True)
    RECORD.touch()
    first, *parts = RECORD.read_text().splitlines() or [""]
    parts = [each for each in parts if first == state and each != part] + [part] * passed
    RECORD.write_text("\n".join([state, *parts, ""]))
    return parts


def main(kind: str = "", seconds: str = "0", state: str = "") -> int:
    """Run the parts, one after another; return the exit code."""
    began = time.monotonic() - int(seconds)

    def pytest(doing: str, *options: str) -> int:
        print(f"{BOLD}==> {doing}{OFF} {DIM}({int(time.monotonic() - began)} s){OFF}", flush=True)
        code = subprocess.run([".venv/bin/pytest", *options]).returncode
        return code % 256  # the code of a process that a signal has ended is negative

    # Remove these variables: otherwise a `make test` that a test runs would obey them, too.
    only, go_on = os.environ.pop("ONLY", ""), os.environ.pop("CONTINUE", "")
    parts = chosen(only) if only else PARTS["slow" if kind == "slow" else "quick"]
    if not kind:
        return 0
    signal.signal(signal.SIGINT, lambda *_: None)  # after Ctrl-C pytest removes its stacks
    slow = kind == "slow"
    marks, limit = ("slow", 1800) if slow else ("not slow", 300)  # seconds for one test
    options = ["-m", marks, f"--timeout={limit}", "--durations=20", "--durations-min=5"]
    passed, code, times = record(state), 0, ""
    shutil.rmtree(".pytest_cache", ignore_errors=True)  # left by earlier runs
    for part in (part for part in parts if not (go_on and part in passed)):
        start = time.monotonic()
        result = pytest(f"Testing: {part}", *options, *arguments(part))
        if result == 5:  # no test of this kind
            if only:
                command = "make test" if slow else "make test-all"
                sys.exit(f"{RED}'{part}' has no tests for this command: try {command} ONLY={part}.{OFF}")
            result = 0
        if slow:
            record(state, part, result == 0)
        if code <= 1 and result:  # 1: tests have failed; more: pytest could not run them
            code = result
        minutes, rest = divmod(int(time.monotonic() - start), 60)
        times += f"{part:11} {minutes:2}:{rest:02} {'red' if result else ''}\n"
    if code == 1 and os.environ.get("SECOND_CHANCE"):
        doing = "A second chance for what failed; what passes now is unstable"
        return pytest(doing, "-rap", "--last-failed", "--last-failed-no-failures=none")
    if slow:
        print(f"\n{times}", end="")
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
