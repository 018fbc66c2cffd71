"""A simulated learner: does a lesson as its page says, in a checkout and on a stack of its own."""

import json
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT, Popen, run
from typing import Self

from requests import Response

from lessons.learners.printed import Block
from lessons.lesson import PORTS, filled, lessons
from tests.stack import PROJECT, REPO, Stack
from tests.support.checkout import copy_checkout
from tests.support.wait import wait_until
from varnish.tests.python.varnish_server import QUICK

ENDLESS = re.compile(r"\bwhile |99999")  # commands that run until Ctrl-C
ENOUGH = 3  # seconds for such a command
LONGEST = 300  # seconds for any other block


class Learner:
    """Types commands, edits files, and sends requests as curl does. `word` is the attempt's word."""

    def __init__(self, stack: Stack) -> None:
        self.stack = stack
        self.folder = stack.folder
        self.word = ""
        self.lesson = 0
        self.edited = False

    def begin(self, lesson: int) -> None:
        """Start a lesson with the shipped configuration."""
        if self.edited:
            self.restore()
        printed = self.stack.make("lesson", f"LESSON={lesson}", "AGAIN=1")
        self.lesson, self.word = lesson, re.findall(r"word of this attempt is (\w+)", printed)[0]

    def check(self, answer: str = "") -> tuple[int, str]:
        """Return the exit code and the output of `make check`'s program."""
        return self.run("bin/lesson", "check", str(self.lesson), ANSWER=answer)

    def run(self, *command: str, **settings: str) -> tuple[int, str]:
        """Return the exit code and the output of a command in the checkout."""
        done = run(
            command,
            cwd=self.folder,
            env=self.stack.environment | settings,
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=STDOUT,
            text=True,
        )
        return done.returncode, done.stdout

    def right(self) -> str:
        """Require that only the question is left; return the check's message."""
        code, said = self.check()
        assert (code, said[:26]) == (1, "What you did is right. One"), said
        return said

    def letter(self, *choices: str) -> str:
        """Return the letter of the choice that begins with one of these texts."""
        begins = "|".join(map(re.escape, choices))
        letters: list[str] = re.findall(rf"^  ([a-d])\) (?:{begins})", self.right(), re.M)
        return letters[0]

    def answer(self, *choices: str) -> tuple[int, str]:
        """Return the check's exit code and output for this choice."""
        return self.check(self.letter(*choices))

    def refused(self, refusal: str, *figures: object, code: int = 1) -> None:
        """Require that the check prints this sentence of lesson.toml, with these figures; or these words."""
        (lesson,) = (lesson for lesson in lessons() if lesson.number == self.lesson)
        parts = re.split(r"\{[^}]*\}", lesson.told["refused"].get(refusal, ""))
        if len(parts) > 1 or parts[0]:
            assert not figures or len(figures) == len(parts) - 1
            gaps = [re.escape(str(figure)) for figure in figures] or [".*"] * len(parts)
            refusal = "".join(re.escape(part) + gap for part, gap in zip(parts, [*gaps, ""], strict=False))
        found, said = self.check()
        assert found == code, said
        assert re.search(refusal.replace("WORD", self.word), said, re.S), said

    def refuses(self, file: str, *changes: tuple[str, str, str], look: Callable[[], object] = bool) -> None:
        """Require that each change of the shipped file (of a text, or at its end) gets its refusal."""
        for old, new, refusal in changes:
            self.change(file, old, new)
            look()
            self.refused(refusal)

    def get(self, path: str, host: str = "localhost", method: str = "GET", **headers: str) -> Response:
        """Send one request; WORD in the path is the attempt's word, if_none_match="x" is If-None-Match: x."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.stack.get(path.replace("WORD", self.word), host, method, named)

    def request(self, path: str, host: str = "localhost", method: str = "GET", **headers: str) -> Self:
        """Send one request whose response does not matter."""
        self.get(path, host, method, **headers)
        return self

    def do_lesson_1(self, host: str = "localhost") -> None:
        """Do what the page of lesson 1 says."""
        for path, method in (("/media/fox.svg", "HEAD"), ("/admin/id", "HEAD"), ("/slow", "GET")):
            self.series(f"{path}?WORD", 2, host, method)

    def herd(
        self, path: str, number: int = 40, host: str = "localhost", method: str = "GET", **headers: str
    ) -> Self:
        """Send that many requests at once; {} in the path is the number of each."""
        with ThreadPoolExecutor(number) as pool:
            list(pool.map(lambda each: self.get(path.format(each), host, method, **headers), range(number)))
        return self

    def series(
        self, path: str, number: int, host: str = "localhost", method: str = "GET", **headers: str
    ) -> Self:
        """Send that many requests, one after another."""
        for each in range(number):
            self.get(path.format(each), host, method, **headers)
        return self

    def follow(self, blocks: Iterable[Block]) -> None:
        """Type the commands of a page, and make its changes."""
        for block in blocks:
            for change in block.changes:
                self.edit(*change)
            if not block.language:
                for commands in block.text.splitlines() if ENDLESS.search(block.text) else [block.text]:
                    self.type(commands)

    def type(self, commands: str) -> None:
        """Type commands, with the attempt's word and this stack's ports. All must succeed; Ctrl-C ends an
        endless one.
        """
        typed = filled(commands, self.word, {name: str(self.stack.ports[name]) for name in PORTS})
        endless = bool(ENDLESS.search(commands))
        shell = ("bash", "-e", "-o", "pipefail", "-c", typed)
        code, said = self.run("timeout", str(ENOUGH if endless else LONGEST), *shell)
        assert code == (124 if endless else 0), f"{typed}\nended with {code}:\n{said}"

    def edit(self, file: str, old: str, new: str) -> Self:
        """Replace a text that the file must contain; if `old` is empty, append to the file."""
        path = self.folder / file
        text = path.read_text() if path.exists() else ""
        assert old in text, f"{file} has no {old!r}"
        path.write_text(text.replace(old, new) if old else text + new)
        self.edited = True
        return self

    def load(self, file: str, old: str, new: str) -> Self:
        """Edit a file, and load it."""
        return self.edit(file, old, new).reload()

    def change(self, file: str, old: str, new: str) -> Self:
        """Change the shipped file, and load it: any earlier change is undone."""
        (self.folder / file).write_text((REPO / file).read_text())
        return self.load(file, old, new)

    def reload(self) -> Self:
        """Run `make reload`."""
        self.stack.make("reload")
        return self

    def restore(self) -> None:
        """Restore the shipped configuration, and load it."""
        self.stack.make("lesson", "RESET=1")
        self.edited = False

    def start_with(self, extras: str, **settings: str) -> None:
        """Run `make up EXTRAS=extras` with settings of that extra, on the shipped configuration."""
        if self.edited:
            self.restore()
        self.stack.settings["EXTRAS"] = extras
        self.stack.make("up", *(f"{name}={value}" for name, value in settings.items()))

    @contextmanager
    def application(self) -> Iterator[None]:
        """Run lesson 20's program, and start the stack in front of it by the line that it prints."""
        program = self.folder / "lessons/20-the-header-from-the-other-side/application.py"
        with Popen([sys.executable, program], stdout=PIPE, text=True) as application:
            try:
                assert application.stdout
                printed = application.stdout.readline().split()
                settings = dict(word.split("=", 1) for word in printed[2:])
                self.start_with(settings.pop("EXTRAS"), **settings)
                yield
            finally:
                application.terminate()

    def restart(self, service: str) -> Self:
        """Restart a service; wait until every site answers."""
        self.stack.control("restart", service)
        self.stack.wait_until_ready()
        return self

    def wait(self, seconds: float) -> Self:
        """Wait that many seconds, as the page asks a learner to."""
        time.sleep(seconds)
        return self

    def wait_until_backend_is(self, state: str) -> None:
        """Wait until the health probe has found the backend to be `sick` or `healthy`."""
        wait_until(lambda: state in self.stack.inside("varnishadm", "backend.list"), within=60, every=0.5)

    @contextmanager
    def paused_backend(self) -> Iterator[None]:
        """Pause the backend, so that it does not answer."""
        self.stack.compose("pause", "backend")
        try:
            yield
        finally:
            self.stack.compose("unpause", "backend")


# A learner reloads often, and the C compiler takes most of the time of a reload.
OVERRIDE = {"services": {"varnish": {"command": ["-p", QUICK]}}}


@contextmanager
def school(folder: Path, mode: str) -> Iterator[Learner]:
    """Yield a learner with a running stack, which is removed afterwards."""
    folder.chmod(0o755)  # nginx's and Varnish's users must read it
    copy_checkout(folder)
    settings = {"UPSTAGE_FESTIVAL": "off"}
    learner = Learner(Stack(mode, f"{PROJECT}-lessons-{mode}", settings=settings, folder=folder))
    if mode == "native":
        (folder / ".venv").symlink_to(REPO / ".venv")
    else:
        (folder / "compose.override.yaml").write_text(json.dumps(OVERRIDE))
        learner.stack.compose("down", "--volumes", "--remove-orphans")  # leftovers of an interrupted run
    try:
        learner.stack.make("up")
        yield learner
    finally:
        learner.stack.make("clean")
