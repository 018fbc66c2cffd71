"""A fault: one file of this folder, faults/NAME.toml."""

import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
KINDS = (  # the kinds of requests that tests/test_faults.py sends
    *("picture", "front page", "new page", "large file", "classic", "nginx.localhost", "workshop"),
    *("chat", "join", "policy"),
)


@dataclass(frozen=True)
class Fault:
    """A fault, with the fields of its file."""

    name: str
    title: str
    users: str  # what users see during the fault
    promise: str  # what the stack guarantees
    look: str  # where the fault can be seen
    commands: tuple[str, str]  # in bash, with commands.sh: the first breaks, the second mends
    lasts: float  # seconds from break to mend, or to the fault's own end; 0: it ends at once
    may_fail: frozenset[str]  # kinds of requests that may fail; no others may
    heals: float  # at most so many seconds, after `lasts`, until no request fails
    loses: str = ""  # what the fault loses
    complaint: str = ""  # a visitor's complaint; a fault that has one can be chosen at random, for lesson 17
    shows: str = ""  # a visitor's command that fails during the fault; it may contain $HTTP_PORT
    at_most: bool = False  # whether it may be that no request fails, for example because a worker was idle

    def run(self, mend: bool = False) -> None:
        """Break the stack, or mend it. Raise FaultError, with the command's output, if that fails."""
        command = self.commands[mend]
        done = bash(command)
        if done.returncode:
            raise FaultError(f"{done.stdout.strip()}\n{self.name}: this failed: {command.strip()}")


class FaultError(Exception):
    """A fault does not exist, its file is wrong, or it cannot be made or mended now."""


def bash(command: str, given: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command with the functions of commands.sh; its output includes its errors."""
    return subprocess.run(
        ["bash", "-c", f". faults/commands.sh\n{command}"],
        cwd=FOLDER.parent,
        input=given,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def faults() -> list[Fault]:
    """Return all faults, by name. Raise FaultError if a file does not describe a fault."""
    return [read(file) for file in sorted(FOLDER.glob("*.toml"))]


def read(file: Path) -> Fault:
    """Return the fault that a file describes; raise FaultError if the file is wrong."""
    try:
        told = tomllib.loads(file.read_text())
        commands = told.pop("break"), told.pop("mend")
        kinds = told.pop("may_fail")
        may_fail = frozenset(KINDS if kinds == ["*"] else kinds)
        if not may_fail <= set(KINDS):
            raise ValueError(f"may_fail: {', '.join(sorted(may_fail - set(KINDS)))}")
        if ("complaint" in told) != ("shows" in told):
            raise ValueError("complaint and shows belong together")
        return Fault(file.stem, commands=commands, may_fail=may_fail, **told)
    except (tomllib.TOMLDecodeError, KeyError, TypeError, ValueError) as error:
        raise FaultError(f"{file.name}: {error}") from None
