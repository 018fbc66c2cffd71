"""The running stack, for programs that query it: its services, logs, counters and tools, in either mode.

The commands in bin/ read the user's settings, find out how the stack was started, and pass this on in
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
LINES = 20_000  # lines of a service's log
RUNS = ("running", "paused")  # states in which a container counts as running
RECENT = 1.0  # seconds for which the engine's list of containers is reused

Process = subprocess.Popen[str]

# Shell scripts for the place where a service runs. A script that follows a log prints an empty line when it
# has begun, and ends when its standard input is closed: an engine's client does not end what it has started.
VARNISH_TOOL = 'exec "$0" -n "${VARNISH_WORKDIR:-/var/lib/varnish/varnishd}" "$@"'
FOLLOWING = 'echo; "$@" 2>&1 & cat >/dev/null; kill $!'
VARNISHTEST = """cd /var/lib/varnish && rm -rf tried && mkdir tried && cd tried && tar -x &&
    TMPDIR=$PWD varnishtest -k -j 2 -t 24 "$@" 2>&1 | grep "^# .* TEST "; rm -rf ../tried"""
# IMAGE ARGUMENT...; $0 is the container. (`docker compose run` could ask about a volume, and take what it is
# given for the answer.)
ASIDE = """exec docker run --rm -i --network none --cap-drop ALL --volumes-from "$0" \\
    --env-file <(docker inspect -f '{{range .Config.Env}}{{println .}}{{end}}' "$0") "$1" upstage "${@:2}" """
HEALTHY_WITHIN = 120.0  # seconds
REASON = re.compile("|".join((REPO / "bin/lib/reasons.txt").read_text().split("\n")[:-1]))


class NotRunning(Exception):
    """A service, or a program in its place, does not answer; the message says which."""


class Running(ABC):
    """A running stack. Every method may raise NotRunning."""

    @abstractmethod
    def services(self, stopped: bool = False) -> list[str]:
        """Return the running services; with `stopped`, in containers, also those that are not running."""

    @abstractmethod
    def started(self) -> dict[str, str]:
        """Return a mark of each running service's last start; in containers, when it started and stopped."""

    @abstractmethod
    def where(self, service: str, *command: str) -> list[str]:
        """Return the command line that runs a program where a service runs, with input and output."""

    @abstractmethod
    def log(self, service: str, lines: int = LINES) -> str:
        """Return the end of a service's output."""

    @abstractmethod
    def follow_log(self, service: str) -> Process:
        """Follow a service's output from now on."""

    @abstractmethod
    def follow_events(self) -> Process:
        """Follow the events of the services, such as `die backend`."""

    @abstractmethod
    def upstage(self, *arguments: str, given: str = "") -> str:
        """Return the output of the command `upstage` in the active server, with a text as its input."""

    @abstractmethod
    def upstage_in(self, service: str, *arguments: str) -> list[str]:
        """Return the command line of `upstage` in a server of it, such as a theatre."""

    @abstractmethod
    def aside(self, service: str, *arguments: str) -> list[str]:
        """Return the command line of `upstage` on the data of a service that may be stopped."""

    @abstractmethod
    def stop(self, service: str) -> None:
        """Stop a service, if it runs."""

    @abstractmethod
    def start(self, service: str) -> None:
        """Start a service as it was, and wait until it is healthy."""

    @abstractmethod
    def nginx_is_current(self) -> bool:
        """Return whether the running nginx has loaded the configuration that is on the disk."""

    @abstractmethod
    def varnishtest(self, folder: str, tests: Iterable[str]) -> str:
        """Run a folder's tests; return a line for each, which says whether it passed."""

    def run(self, service: str, *command: str, given: bytes = b"") -> str:
        """Return the output of a program that runs where a service runs."""
        return printed(self.where(service, *command), given)

    def varnishes(self, stopped: bool = False) -> list[str]:
        """Return the services that are a Varnish: one, or several (extras/ring)."""
        return [name for name in self.services(stopped) if re.fullmatch(r"varnish(-\d+)?", name)]

    def varnish_tool(self, tool: str, *arguments: str) -> list[list[str]]:
        """Return the command lines that run a tool in every Varnish; varnishadm runs only in the first."""
        varnishes = self.varnishes() or ["varnish"]
        if tool == "varnishadm":
            del varnishes[1:]
            arguments = ("-t", "30", *arguments)  # seconds: loading a VCL may take longer than the default
        return [self.where(name, "sh", "-c", VARNISH_TOOL, tool, *arguments) for name in varnishes]

    def varnish(self, tool: str, *arguments: str) -> str:
        """Return the output of a tool in every Varnish, one after another; of varnishadm in the first."""
        return "".join(map(printed, self.varnish_tool(tool, *arguments)))

    def follow_varnishlog(self, varnish: str, *arguments: str) -> Process:
        """Follow the log of one Varnish; an empty line comes first, when the following begins."""
        tool = ("sh", "-c", VARNISH_TOOL, "varnishlog", *arguments)
        return follow(self.where(varnish, "sh", "-c", FOLLOWING, "following", *tool))


class Containers(Running):
    """The stack in the containers of COMPOSE_PROJECT_NAME."""

    def __init__(self) -> None:
        project = os.environ["COMPOSE_PROJECT_NAME"]
        self._ours = [f"--filter=label=com.docker.compose.project={project}"]
        self._ours += ["--filter=label=com.docker.compose.oneoff=False"]
        self._listed = -RECENT
        self._ids: dict[str, tuple[str, bool]] = {}  # service -> its container, and whether it is running

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
        for _ in range(2):
            id_, runs = self._containers().get(service, ("", False))
            if id_ and (runs or stopped):
                return id_
            self._listed = -RECENT  # it may be new
        missing = service if "nginx" in self.services() else "The stack"
        raise NotRunning(f"{missing} is not running. Type: make up")

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
        # `docker logs` would end when the container is re-created.
        options = ("--no-log-prefix", "--no-color", "--tail=0", "--follow")
        return follow(["docker", "compose", "logs", *options, service])

    def follow_events(self) -> Process:
        row = '{{.Action}} {{index .Actor.Attributes "com.docker.compose.service"}}'
        events = ("docker", "events", "--filter=type=container", *self._ours, "--format", row)
        return follow(["sh", "-c", FOLLOWING, "following", *events])

    def upstage(self, *arguments: str, given: str = "") -> str:
        active = "mirror" if "mirror" in self.services() else "backend"
        return self.run(active, "upstage", *arguments, given=given.encode())

    def upstage_in(self, service: str, *arguments: str) -> list[str]:
        return self.where(service, "upstage", *arguments)

    def aside(self, service: str, *arguments: str) -> list[str]:
        id_ = self._id(service, stopped=True)
        image = printed(["docker", "inspect", "-f", "{{.Image}}", id_]).strip()
        return ["bash", "-c", ASIDE, id_, image, *arguments]

    def stop(self, service: str) -> None:
        printed(["docker", "stop", self._id(service, stopped=True)])

    def start(self, service: str) -> None:
        id_, until = self._id(service, stopped=True), time.monotonic() + HEALTHY_WITHIN
        printed(["docker", "start", id_])
        while printed(["docker", "inspect", "-f", "{{.State.Health.Status}}", id_]).strip() != "healthy":
            if time.monotonic() > until:
                log = self.log(service, 20)
                raise NotRunning(f"{service} did not become healthy.\n{service}: {reason_in(log)}")
            time.sleep(0.5)

    def nginx_is_current(self) -> bool:
        return succeeds(self.where("nginx", "sh", "/etc/nginx/proscenium/loaded.sh"))

    def varnishtest(self, folder: str, tests: Iterable[str]) -> str:
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            archive.add(folder, arcname=".")
        return self.run("varnish", "sh", "-c", VARNISHTEST, "varnishtest", *tests, given=packed.getvalue())


class Native(Running):
    """The stack as processes under supervisord; native/native.sh sets their addresses."""

    # A separate shell: Compose and `make` would take the addresses for the user's settings.
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
        return dict(line.split(maxsplit=1) for line in self._ask("native", "started").splitlines())

    def log(self, service: str, lines: int = LINES) -> str:
        return self._ask("tail", "-n", str(lines), f"{os.environ['NATIVE_RUN']}/log/{service}.log")

    def follow_log(self, service: str) -> Process:
        return follow(["tail", "-n", "0", "-F", f"{os.environ['NATIVE_RUN']}/log/{service}.log"])

    def follow_events(self) -> Process:
        return follow(["cat"])  # there are no events: supervisord restarts ended processes immediately

    def upstage(self, *arguments: str, given: str = "") -> str:
        return self._ask("active_upstage", *arguments, given=given)

    def upstage_in(self, service: str, *arguments: str) -> list[str]:
        return self.where("", "stack_upstage", service, *arguments)

    aside = upstage_in

    def stop(self, service: str) -> None:
        self._ask("stack_stop", service)

    def start(self, service: str) -> None:
        self._ask("stack_start", service)

    def nginx_is_current(self) -> bool:
        return succeeds(self.where("nginx", "native", "nginx", "loaded.sh"))

    def varnishtest(self, folder: str, tests: Iterable[str]) -> str:
        return self._ask("native", "varnishtest", folder, *tests)


@cache
def running() -> Running:
    """Return the stack of this checkout. Raise NotRunning."""
    mode = os.environ.get("STACK_MODE")
    if not mode:
        raise NotRunning("The stack is not running. Type: make up")
    return Native() if mode == "native" else Containers()


def printed(command: list[str], given: bytes = b"", both: bool = False) -> str:
    """Return the output of a program, with its errors if `both`. Raise NotRunning if it fails."""
    errors = subprocess.STDOUT if both else subprocess.PIPE
    try:
        done = subprocess.run(command, cwd=REPO, input=given, stdout=subprocess.PIPE, stderr=errors)
    except FileNotFoundError as error:
        raise NotRunning(str(error)) from None
    if done.returncode:
        raise NotRunning((done.stderr or done.stdout).decode(errors="replace").strip())
    return done.stdout.decode(errors="replace")


def reason_in(output: str) -> str:
    """Return the line that says why a service failed: the last with a word such as "error", or the last."""
    lines = output.splitlines() or [""]
    return next((line for line in reversed(lines) if REASON.search(line)), lines[-1])


def succeeds(command: list[str]) -> bool:
    """Return whether a program succeeds."""
    try:
        printed(command)
    except NotRunning:
        return False
    return True


def follow(command: list[str]) -> Process:
    """Start a program that prints a log or events."""
    return subprocess.Popen(
        command,
        cwd=REPO,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        errors="replace",
        start_new_session=True,  # Ctrl-C must reach only this process, which ends the child and its children
    )
