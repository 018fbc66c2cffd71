"""The running stack, for programs that ask it: its services, logs, counters and tools, in either mode.

The commands in bin/ read the user's settings and find out how the stack was started, once, and tell it in
COMPOSE_PROJECT_NAME and STACK_MODE.
"""

import io
import os
import re
import subprocess
import tarfile
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import cache
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
LINES = 20_000  # of a service's log
RUNS = ("running", "paused")  # states of a container
RECENT = 1.0  # seconds for which the engine's list of containers is reused

Process = subprocess.Popen[str]

# Shell scripts for the place where a service runs. A script that follows a log prints an empty line when it
# has begun, and ends when its standard input closes: an engine's client leaves running what it has started.
VARNISH_TOOL = 'exec "$0" -n "${VARNISH_WORKDIR:-/var/lib/varnish/varnishd}" "$@"'
FOLLOWING = 'echo; "$@" 2>&1 & cat >/dev/null; kill $!'
VARNISHTEST = """cd /var/lib/varnish && rm -rf tried && mkdir tried && cd tried && tar -x &&
    TMPDIR=$PWD varnishtest -k -j 2 -t 24 "$@" 2>&1 | grep "^# .* TEST "; rm -rf ../tried"""


class NotRunning(Exception):
    """A service, or a program in its place, does not answer; the text is its message."""


class Running(ABC):
    """A running stack. Every method may raise NotRunning."""

    @abstractmethod
    def services(self, stopped: bool = False) -> list[str]:
        """The services that run; with `stopped`, in containers, also those that do not."""

    @abstractmethod
    def started(self) -> dict[str, str]:
        """A sign of each running service's last start; in containers, when it started and last stopped."""

    @abstractmethod
    def where(self, service: str, *command: str) -> list[str]:
        """The command line that runs a program where a service runs, with its input and output."""

    @abstractmethod
    def log(self, service: str, lines: int = LINES) -> str:
        """The end of what a service has printed."""

    @abstractmethod
    def follow_log(self, service: str) -> Process:
        """What a service prints from now on."""

    @abstractmethod
    def follow_events(self) -> Process:
        """What happens to the services, as `die backend`."""

    @abstractmethod
    def upstage(self, *arguments: str, given: str = "") -> str:
        """What the command `upstage` prints in the active server, with a text as its input."""

    @abstractmethod
    def nginx_is_current(self) -> bool:
        """Whether the running nginx has the configuration that is on the disk."""

    @abstractmethod
    def varnishtest(self, folder: str, tests: Iterable[str]) -> str:
        """Run tests of a folder; return a line for each, which says whether it passed."""

    def run(self, service: str, *command: str, given: bytes = b"") -> str:
        """What a program prints where a service runs."""
        return printed(self.where(service, *command), given)

    def varnishes(self, stopped: bool = False) -> list[str]:
        """The services that are a Varnish: one, or several (extras/ring)."""
        return [name for name in self.services(stopped) if re.fullmatch(r"varnish(-\d+)?", name)]

    def varnish_tool(self, tool: str, *arguments: str) -> list[list[str]]:
        """The command lines that run a tool in every Varnish; varnishadm runs in the first only."""
        varnishes = self.varnishes() or ["varnish"]
        if tool == "varnishadm":
            del varnishes[1:]
            arguments = ("-t", "30", *arguments)  # seconds: on a busy machine, a VCL takes more than five
        return [self.where(name, "sh", "-c", VARNISH_TOOL, tool, *arguments) for name in varnishes]

    def varnish(self, tool: str, *arguments: str) -> str:
        """What a tool prints in these Varnishes, one after the other."""
        return "".join(map(printed, self.varnish_tool(tool, *arguments)))

    def follow_varnishlog(self, varnish: str, *arguments: str) -> Process:
        """An empty line when it begins, then the log of one Varnish."""
        tool = ("sh", "-c", VARNISH_TOOL, "varnishlog", *arguments)
        return follow(self.where(varnish, "sh", "-c", FOLLOWING, "following", *tool))


class Containers(Running):
    """The stack in the containers of COMPOSE_PROJECT_NAME."""

    def __init__(self) -> None:
        project = os.environ["COMPOSE_PROJECT_NAME"]
        self._ours = [f"--filter=label=com.docker.compose.project={project}"]
        self._ours += ["--filter=label=com.docker.compose.oneoff=False"]
        self._listed = -RECENT
        self._ids: dict[str, tuple[str, bool]] = {}  # service -> container, and whether it runs

    def _containers(self) -> dict[str, tuple[str, bool]]:
        if time.monotonic() - self._listed > RECENT:
            row = '{{.Label "com.docker.compose.service"}} {{.ID}} {{.State}}'
            listed = printed(["docker", "ps", "-a", *self._ours, "--format", row])
            rows = (line.split() for line in listed.splitlines())
            found = sorted((service, state in RUNS, id_) for service, id_, state in rows)
            self._ids = {service: (id_, runs) for service, runs, id_ in found}  # of two, the running one
            self._listed = time.monotonic()
        return self._ids

    def services(self, stopped: bool = False) -> list[str]:
        return [service for service, (_, runs) in self._containers().items() if runs or stopped]

    def _id(self, service: str, stopped: bool = False) -> str:
        id_, runs = self._containers().get(service, ("", False))
        if not id_ or not (runs or stopped):
            missing = service if "nginx" in self.services() else "The stack"
            raise NotRunning(f"{missing} is not running. Type: make up")
        return id_

    def where(self, service: str, *command: str) -> list[str]:
        return ["docker", "exec", "-i", self._id(service), *command]

    def started(self) -> dict[str, str]:
        times = "{{.State.StartedAt}} {{.State.FinishedAt}}"
        row = '{{index .Config.Labels "com.docker.compose.service"}} ' + times
        ids = [id_ for id_, runs in self._containers().values() if runs]
        found = printed(["docker", "inspect", "-f", row, *ids]) if ids else ""
        return dict(line.split(maxsplit=1) for line in found.splitlines())

    def log(self, service: str, lines: int = LINES) -> str:
        return printed(["docker", "logs", f"--tail={lines}", self._id(service, stopped=True)], both=True)

    def follow_log(self, service: str) -> Process:
        # `docker logs` would end when the container is made anew.
        options = ("--no-log-prefix", "--no-color", "--tail=0", "--follow")
        return follow(["docker", "compose", "logs", *options, service])

    def follow_events(self) -> Process:
        row = '{{.Action}} {{index .Actor.Attributes "com.docker.compose.service"}}'
        events = ("docker", "events", "--filter=type=container", *self._ours, "--format", row)
        return follow(["sh", "-c", FOLLOWING, "following", *events])

    def upstage(self, *arguments: str, given: str = "") -> str:
        active = "mirror" if "mirror" in self.services() else "backend"
        return self.run(active, "upstage", *arguments, given=given.encode())

    def nginx_is_current(self) -> bool:
        return succeeds(self.where("nginx", "sh", "/etc/nginx/proscenium/loaded.sh"))

    def varnishtest(self, folder: str, tests: Iterable[str]) -> str:
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            archive.add(folder, arcname=".")
        return self.run("varnish", "sh", "-c", VARNISHTEST, "varnishtest", *tests, given=packed.getvalue())


class Native(Running):
    """The stack as processes under supervisord: native/native.sh has their addresses."""

    # A shell of its own: Compose and `make` would take the addresses for the user's settings.
    SHELL = """. bin/lib/common.sh; . bin/lib/modes.sh
        mode=native; THEATRES=$(started_theatres); use_mode native
        "$@" || { code=$?; stack_running || die "The stack is not running. Type: make up"; exit $code; }"""

    def where(self, service: str, *command: str) -> list[str]:
        return ["bash", "-c", self.SHELL, "native", *command]

    def _ask(self, *command: str, given: str = "") -> str:
        return printed(self.where("", *command), given.encode())

    def services(self, stopped: bool = False) -> list[str]:
        return list(self.started())

    def varnishes(self, stopped: bool = False) -> list[str]:
        return ["varnish"]

    def started(self) -> dict[str, str]:
        return dict(line.split(maxsplit=1) for line in self._ask("native_started").splitlines())

    def log(self, service: str, lines: int = LINES) -> str:
        return self._ask("tail", "-n", str(lines), f"{os.environ['NATIVE_RUN']}/log/{service}.log")

    def follow_log(self, service: str) -> Process:
        return follow(["tail", "-n", "0", "-F", f"{os.environ['NATIVE_RUN']}/log/{service}.log"])

    def follow_events(self) -> Process:
        return follow(["cat"])  # no events: supervisord restarts at once what has ended

    def upstage(self, *arguments: str, given: str = "") -> str:
        return self._ask("active_upstage", *arguments, given=given)

    def nginx_is_current(self) -> bool:
        return succeeds(self.where("nginx", "native_nginx_loaded"))

    def varnishtest(self, folder: str, tests: Iterable[str]) -> str:
        return self._ask("native_varnishtest", folder, *tests)


@cache
def running() -> Running:
    """The stack of this checkout. Raise NotRunning."""
    mode = os.environ.get("STACK_MODE")
    if not mode:
        raise NotRunning("The stack is not running. Type: make up")
    return Native() if mode == "native" else Containers()


def printed(command: list[str], given: bytes = b"", both: bool = False) -> str:
    """What a program prints, with its errors if both are wanted. Raise NotRunning if it fails."""
    errors = subprocess.STDOUT if both else subprocess.PIPE
    try:
        done = subprocess.run(command, cwd=REPO, input=given, stdout=subprocess.PIPE, stderr=errors)
    except FileNotFoundError as error:
        raise NotRunning(str(error)) from None
    if done.returncode:
        raise NotRunning((done.stderr or done.stdout).decode(errors="replace").strip())
    return done.stdout.decode(errors="replace")


def succeeds(command: list[str]) -> bool:
    """Whether a program ends well."""
    try:
        printed(command)
    except NotRunning:
        return False
    return True


def follow(command: list[str]) -> Process:
    """Start a program that prints what happens."""
    return subprocess.Popen(
        command,
        cwd=REPO,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        errors="replace",
        start_new_session=True,  # Ctrl-C must reach only this process, which ends it with its children
    )
