"""The commands in README.md, docs/, extras/ and varnish/: run as printed, with the output that the page says.

A block marked `sh` is run by bash in the checkout; the `text` block after it is what it must print, with `…`
for anything. Only the ports are those of the stack under test. Commands that start a stack are run on one of
their own, also those inside sentences and tables.
"""

import fnmatch
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.stack import PROJECT, REPO, Stack, webcam_ports
from tests.support.checks import check
from tests.support.wait import wait_until

FOLDERS = ("docs/*.md", "extras/**/*.md")
OTHERS = {"docs/your-application.md", "extras/app/README.md"}  # test_your_application.py
OTHERS |= {
    "docs/several-machines.md",
    "extras/edge/README.md",
}  # test_machines.py
OTHERS |= {"extras/kubernetes/README.md"}  # extras/kubernetes/proof
FOUND = (str(page.relative_to(REPO)) for folder in FOLDERS for page in sorted(REPO.glob(folder)))
OURS = (page for page in FOUND if page not in OTHERS)
PAGES = ("README.md", *OURS, "varnish/README.md")
PORTS = {"8080": "HTTP_PORT", "8081": "WEB_PORT", "8089": "LOCUST_PORT", "8443": "HTTPS_PORT"}
PORTS |= {"7230": "SWF_PORT", "7231": "THEATRES_SWF_PORT"}

# Blocks that run this test or need preparation: other tests run their commands.
PREPARED = re.compile(
    r'make test|make class|git (pull|checkout)|docker compose run .* set-aside|echo "a password"|COMPOSE_\w+='
)
CORE = ("nginx", "varnish", "backend", "policyd", "locust")
# Commands that start a stack.
START = re.compile(r"(make up|docker compose (-f \S+ )*up)\b[^\n]*")


@dataclass(frozen=True)
class Block:
    """A block of commands on one page, and the lines that they must print."""

    page: str
    commands: str
    expected: str

    def __str__(self) -> str:
        return f"{self.page}: {self.commands.splitlines()[0]}"


def blocks() -> list[Block]:
    """Return every block of commands in the pages, in order; a list item's indentation is removed."""
    found = []
    fences = re.compile(r"^( *)```sh\n(.*?)\n\1```(?:\n\s*\n\1```text\n(.*?)\n\1```)?$", re.M | re.S)
    for page in PAGES:
        for indent, commands, expected in fences.findall((REPO / page).read_text()):
            commands, expected = (re.sub(f"^{indent}", "", text, flags=re.M) for text in (commands, expected))
            found.append(Block(page, commands, expected))
    return found


def inline_commands() -> set[str]:
    """Return the commands of this project inside sentences and tables."""
    commands = set()
    for page in PAGES:
        prose = re.sub(r"^ *```.*?^ *```$", "", (REPO / page).read_text(), flags=re.M | re.S)
        commands |= set(re.findall(r"`((?:make |docker compose|varnishtest|python tests/)[^`]*)`", prose))
    return {re.sub(r"\s+", " ", command) for command in commands}


def starts() -> list[str]:
    """Return the commands that start a stack: `make` first, as it builds the images, native mode last."""
    printed = inline_commands() | {block.commands for block in blocks()}
    found = filter(START.fullmatch, printed)
    return sorted(found, key=lambda command: ("native" in command, "docker" in command, command))


@pytest.fixture(scope="module")
def other() -> Iterator[Stack]:
    """Yield a stack for the commands that start one."""
    if os.environ.get("ENGINE") == "no":
        pytest.skip("no container engine can run here (make test said why)")
    other = Stack("auto", PROJECT + "-documented")
    other.settings = webcam_ports()
    yield other
    other.make("clean")


def running(stack: Stack) -> set[str]:
    """Return the names of the services that run; an extra's service has the extra's name."""
    services = stack.compose("ps", "--services", "--status", "running")
    return set(services.replace("locust-worker", "workers").split())


@pytest.mark.slow
@pytest.mark.parametrize("command", starts())
def test_start(other: Stack, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The site answers; the services of the core and of the command's extras run, and no others."""
    if "native" in command:
        other.make("clean")
    elif "--remove-orphans" in command:
        other.make("up", "EXTRAS=mirror")
    elif "docker" in command:
        other.make("down")
    if port := re.search(r"HTTP_PORT=(\d+)", command):
        monkeypatch.setitem(other.ports, "HTTP_PORT", int(port[1]))
    log = tmp_path / "log"
    attached = command == "docker compose up"
    with (
        log.open("w") as output,
        subprocess.Popen(
            ["bash", "-c", command],
            cwd=REPO,
            env=other.environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as run,
    ):
        try:
            if attached:
                wait_until(lambda: "Attaching to" in log.read_text(), within=120)
            else:
                assert run.wait(300) == 0, log.read_text()
            other.wait_until_ready()
            if "native" not in command:
                extras = re.findall(r"(?:extras/|EXTRAS=)([a-z,]+)", command)
                expected = set(",".join([*CORE, *extras]).split(",")) - {
                    "direct",
                    "mirror",
                }  # a port of nginx; runs later
                services = {"webcam": {"webcam", "camera"}, "ring": {"varnish-2", "varnish-3"}}
                services["observe"] = {"exporter", "prometheus", "varnishstat"}
                expected = set().union(*(services.get(extra, {extra}) for extra in expected))
                if "THEATRES" in command:
                    expected |= {"second", "third"}
                if attached:  # Services start in the order of their dependencies.
                    wait_until(lambda: running(other) >= expected, within=60)
                assert running(other) == expected
        finally:
            if attached:
                os.killpg(run.pid, signal.SIGINT)  # Ctrl-C
                try:
                    run.wait(60)
                except subprocess.TimeoutExpired:
                    os.killpg(run.pid, signal.SIGKILL)
                    raise


@pytest.mark.parametrize("stack", ["containers"], indirect=True, scope="session")
@pytest.mark.parametrize(
    "block",
    [each for each in blocks() if not PREPARED.search(each.commands) and not START.fullmatch(each.commands)],
    ids=str,
)
def test_block(stack: Stack, block: Block) -> None:
    script = re.sub(r"(?<=localhost[:/])\d+", lambda port: str(stack.ports[PORTS[port[0]]]), block.commands)
    try:
        said = check("bash", "-c", script, env=stack.environment, timeout=120)
        printed = iter(said.replace("\r", "").splitlines())
        for line in block.expected.splitlines():
            pattern = fnmatch.translate(re.sub(r"([\[*?])", r"[\1]", line.strip()).replace("…", "*"))
            assert any(re.match(pattern, each.strip()) for each in printed), (line, said)
    finally:
        stack.wait_until_ready()
