"""The commands in README.md and docs/: run as printed, with the output that the page promises.

A block marked `sh` is run by bash in the checkout; the `text` block after it is what it must print, with `…`
for anything. Only the ports are those of the stack under test. Commands inside sentences and tables, and the
blocks that cannot run here, are in ELSEWHERE with the test that runs them.
"""

import fnmatch
import re
import subprocess
from dataclasses import dataclass

import pytest

from stack import REPO, Stack
from support.wait import wait_until

PAGES = ["README.md", *sorted(f"docs/{page.name}" for page in (REPO / "docs").glob("*.md"))]
PORTS = {"8080": "HTTP_PORT", "8443": "HTTPS_PORT", "7230": "SWF_PORT", "8089": "LOCUST_PORT"}

# Command: the test that runs it (file::function).
ELSEWHERE = {
    "make up\nmake test": "test_open.py::test_up_prints_addresses_and_password",
}


@dataclass(frozen=True)
class Block:
    """Commands of one page and the lines they must print."""

    page: str
    commands: str
    expected: str

    def __str__(self) -> str:
        return f"{self.page}: {self.commands.splitlines()[0]}"


def blocks() -> list[Block]:
    """Every block of commands in the pages, in order; a list item's indentation is removed."""
    found = []
    fences = re.compile(r"^( *)```sh\n(.*?)\n\1```(?:\n\s*\n\1```text\n(.*?)\n\1```)?$", re.M | re.S)
    for page in PAGES:
        for indent, commands, expected in fences.findall((REPO / page).read_text()):
            commands, expected = (re.sub(f"^{indent}", "", text, flags=re.M) for text in (commands, expected))
            found.append(Block(page, commands, expected))
    return found


def inline_commands() -> set[str]:
    """Commands of this project inside sentences and tables."""
    commands = set()
    for page in PAGES:
        prose = re.sub(r"^ *```.*?^ *```$", "", (REPO / page).read_text(), flags=re.M | re.S)
        commands |= set(re.findall(r"`((?:make|docker compose|varnishtest|python tests/)\b[^`]*)`", prose))
    return {re.sub(r"\s+", " ", command) for command in commands}


def test_every_command_in_a_sentence_has_a_test() -> None:
    missing = inline_commands() - ELSEWHERE.keys()
    assert not missing, f"Name the test that runs them in ELSEWHERE: {sorted(missing)}"


@pytest.mark.parametrize("command", ELSEWHERE)
def test_that_test_exists(command: str) -> None:
    file, _, function = ELSEWHERE[command].partition("::")
    assert re.search(rf"^def {function}\b", (REPO / "tests" / file).read_text(), re.M), ELSEWHERE[command]


def test_elsewhere_is_up_to_date() -> None:
    printed = inline_commands() | {block.commands for block in blocks()}
    assert not ELSEWHERE.keys() - printed


@pytest.mark.parametrize("stack", ["containers"], indirect=True, scope="session")
@pytest.mark.parametrize("block", [each for each in blocks() if each.commands not in ELSEWHERE], ids=str)
def test_block(stack: Stack, block: Block) -> None:
    script = re.sub(r"(?<=localhost[:/])\d+", lambda port: str(stack.ports[PORTS[port[0]]]), block.commands)
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=REPO,
        env=stack.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
    try:
        assert done.returncode == 0, done.stdout
        printed = iter(done.stdout.replace("\r", "").splitlines())
        for line in block.expected.splitlines():
            pattern = fnmatch.translate(re.sub(r"([\[*?])", r"[\1]", line.strip()).replace("…", "*"))
            assert any(re.match(pattern, each.strip()) for each in printed), (line, done.stdout)
    finally:
        wait_until(lambda: stack.get("/admin/id").status_code == 200, within=60)
