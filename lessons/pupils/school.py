"""A pupil, who works at a lesson in their own checkout and on their own stack, as the lesson's page says."""

import re
import subprocess
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import requests

from checking.lesson import PORTS
from printed import Block
from stack import PROJECT, REPO, Stack
from support.checkout import copy_checkout
from support.wait import wait_until

ENDLESS = re.compile(r"\bwhile |99999")  # until Ctrl-C
ENOUGH = 3  # seconds of such a command
LONGEST = 300  # seconds of another block
COMMIT = "git -c user.name=pupil -c user.email=pupil@example.org commit -q --allow-empty -am mine"


class Pupil:
    """Types commands, edits files, and sends requests as curl would. `word` is the attempt's word."""

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
        """The exit code and the output of `make check`'s program."""
        done = subprocess.run(
            ["bin/lesson", "check", str(self.lesson)],
            cwd=self.folder,
            env=self.stack.environment | ({"ANSWER": answer} if answer else {}),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        return done.returncode, done.stdout

    def right(self) -> str:
        """Everything is done; only the question is left, which is returned."""
        code, said = self.check()
        assert (code, said[:26]) == (1, "What you did is right. One"), said
        return said

    def refused(self, sentence: str, code: int = 1) -> None:
        """The check says this, and that the lesson is not done."""
        found, said = self.check()
        assert found == code, said
        assert re.search(sentence, said), said

    def get(
        self, path: str, host: str = "localhost", method: str = "GET", **headers: str
    ) -> requests.Response:
        """One request; WORD in the path is the attempt's, `if_none_match="x"` becomes If-None-Match: x."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.stack.get(path.replace("WORD", self.word), host, method, named)

    def herd(
        self, path: str, number: int = 40, host: str = "localhost", method: str = "GET", **headers: str
    ) -> None:
        """That many requests at once."""
        with ThreadPoolExecutor(number) as pool:
            list(pool.map(lambda _: self.get(path, host, method, **headers), range(number)))

    def follow(self, blocks: Iterable[Block]) -> None:
        """Type the commands of a page, and make its changes."""
        for block in blocks:
            for file, old, new in block.changes:
                if old:
                    self.edit(file, old, new)
                else:
                    self.append(file, new)
            if not block.language:
                for commands in block.text.splitlines() if ENDLESS.search(block.text) else [block.text]:
                    self.type(commands)

    def type(self, commands: str) -> None:
        """Type commands, with the attempt's word and this stack's ports. All must succeed; Ctrl-C ends an
        endless one."""
        typed = commands.replace("WORD", self.word)
        for name, default in PORTS.items():
            typed = re.sub(rf"(?<=localhost:){default}\b", str(self.stack.ports[name]), typed)
        endless = bool(ENDLESS.search(commands))
        done = subprocess.run(
            ["timeout", str(ENOUGH if endless else LONGEST), "bash", "-e", "-o", "pipefail", "-c", typed],
            cwd=self.folder,
            env=self.stack.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        expected = 124 if endless else 0
        assert done.returncode == expected, f"{typed}\nended with {done.returncode}:\n{done.stdout}"

    def edit(self, file: str, old: str, new: str) -> None:
        """Replace a text that the file must have."""
        path = self.folder / file
        text = path.read_text()
        assert old in text, f"{file} has no {old!r}"
        path.write_text(text.replace(old, new))
        self.edited = True

    def append(self, file: str, text: str) -> None:
        """Add to the end of a file."""
        with (self.folder / file).open("a") as end:
            end.write(text)
        self.edited = True

    def rule(self, file: str, rule: str) -> None:
        """Load a rule at the end of a file, in place of the previous one."""
        path = self.folder / file
        path.write_text(path.read_text().partition("\n# Mine\n")[0] + f"\n# Mine\n{rule}\n")
        self.edited = True
        self.reload()

    def reload(self) -> None:
        """`make reload`."""
        self.stack.make("reload")

    def restore(self) -> None:
        """Restore the shipped configuration, and load it."""
        self.stack.make("lesson", "RESET=1")
        self.edited = False

    def start_with(self, extras: str, **settings: str) -> None:
        """`make up EXTRAS=extras`, with settings of that extra, on the shipped configuration."""
        if self.edited:
            self.restore()
        self.stack.settings["EXTRAS"] = extras
        self.stack.make("up", *(f"{name}={value}" for name, value in settings.items()))

    def restart(self, service: str) -> None:
        """Restart a service; wait until every site answers."""
        self.stack.control("restart", service)
        self.stack.wait_until_ready()

    def wait(self, seconds: float) -> None:
        """Sleep."""
        time.sleep(seconds)

    def wait_until_backend_is(self, state: str) -> None:
        """Wait until the health probe has found the backend `sick` or `healthy`."""
        wait_until(lambda: state in self.stack.inside("varnishadm", "backend.list"), within=60, every=0.5)

    @contextmanager
    def paused_backend(self) -> Iterator[None]:
        """A backend that does not answer."""
        self.stack.compose("pause", "backend")
        try:
            yield
        finally:
            self.stack.compose("unpause", "backend")


@contextmanager
def school(folder: Path, mode: str) -> Iterator[Pupil]:
    """A pupil with a running stack, which is removed afterwards."""
    folder.chmod(0o755)  # nginx's and Varnish's users read it
    copy_checkout(folder)
    settings = {"UPSTAGE_FESTIVAL": "off"}
    pupil = Pupil(Stack(mode, f"{PROJECT}-lessons-{mode}", settings=settings, folder=folder))
    if mode == "native":
        (folder / ".venv").symlink_to(REPO / ".venv")
    else:
        pupil.stack.compose("down", "--volumes", "--remove-orphans")  # of an interrupted run
    try:
        pupil.stack.make("up")
        yield pupil
    finally:
        pupil.stack.make("clean")
