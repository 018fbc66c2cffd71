"""The commands in README.md, docs/, extras/ and varnish/: run as printed, with the output that the page says.

A block marked `sh` is run by bash in the checkout; the `text` block after it is what it must print, with `…`
for anything. Only the ports are those of the stack under test. Commands that start a stack are run on one of
their own. The others inside sentences and tables, and the blocks that need preparation, are in ELSEWHERE with
the test that runs them.
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

from stack import PROJECT, REPO, Stack, webcam_ports
from support.wait import wait_until

PAGES = [
    str(page.relative_to(REPO))
    for page in (
        REPO / "README.md",
        *sorted(REPO.glob("docs/*.md")),
        *sorted(REPO.glob("extras/**/*.md")),
        REPO / "varnish" / "README.md",
    )
]
PORTS = {
    "7230": "SWF_PORT",
    "7231": "THEATRES_SWF_PORT",
    "8080": "HTTP_PORT",
    "8081": "WEB_PORT",
    "8089": "LOCUST_PORT",
    "8443": "HTTPS_PORT",
}

CLASS = "lessons/pupils/test_class_of_two.py::test_two_copies_are_opened_used_reset_and_closed"
WATCH = "tests/test_watch.py::test_a_miss_and_a_hit_appear_and_ctrl_c_leaves_no_process"
# Command: the test that runs it, as file::function below the repository's root.
ELSEWHERE = {
    "COMPOSE_PROJECT_NAME=second HTTP_PORT=9080 HTTPS_PORT=9443 SWF_PORT=9230 POLICY_FILE_PORT=9000"
    " LOCUST_PORT=9089 make up": "tests/test_open.py::test_a_second_copy_beside_the_first",
    "COMPOSE_FILE=compose.yaml:extras/mirror/compose.yaml:extras/inspect/compose.yaml": (
        "tests/test_commands.py::test_extras_become_compose_files"
    ),
    "make down": "tests/test_open.py::test_a_second_copy_beside_the_first",
    "make clean": "tests/test_open.py::test_a_second_copy_beside_the_first",
    "make status": "tests/test_open.py::test_every_service_is_healthy",
    "make lesson LESSON=1": "tests/test_lessons_page.py::test_the_first_lesson_can_be_done",
    "make lesson RESET=1": "lessons/pupils/test_lesson_08.py::test_the_model_pupil_is_done",
    "make compare TOPOLOGIES=default,nginx USERS=50": ("tests/test_load.py::test_topologies_are_compared"),
    "make bundle": "tests/test_bundle.py::test_a_room_without_a_network",
    "make slides": "tests/test_slides.py::test_the_slides_and_the_cheat_sheet_are_written",
    "make logs": "tests/test_open.py::test_logs_follow_every_service",
    "make reload": "tests/test_open.py::test_reload_drops_no_request",
    "make reset": "tests/test_stage.py::test_make_reset_brings_a_stage_back_to_its_start",
    "make reset STAGE=demo": "tests/test_stage.py::test_make_reset_brings_a_stage_back_to_its_start",
    "make doctor": "tests/test_commands.py::test_doctor_names_what_is_missing_and_what_to_type",
    "make trace URL=/media/fox.svg": "tests/test_trace.py::test_a_miss_and_a_hit_of_the_running_stack",
    "make watch": WATCH,
    "make watch HOST=classic.localhost": WATCH,
    "make watch WORD=fox": WATCH,
    "make purge URL=/media/fox.svg": "tests/test_purge.py::test_a_path_a_file_s_tag_and_all_media",
    "make purge TAG=medium-fox-svg": "tests/test_purge.py::test_a_path_a_file_s_tag_and_all_media",
    "make purge TAG=media": "tests/test_purge.py::test_a_path_a_file_s_tag_and_all_media",
    "varnishtest varnish/tests/media_kept_12h.vtc": "varnish/tests/python/test_vtc.py::test_rule",
    "make mirror": "tests/test_mirror.py::test_an_operator_copies_and_switches",
    "make mirror TO=mirror": "tests/test_mirror.py::test_an_operator_copies_and_switches",
    "make mirror TO=backend": "tests/test_mirror.py::test_an_operator_copies_and_switches",
    "docker compose exec backend upstage mirror": (
        "tests/test_mirror.py::test_an_operator_copies_and_switches"
    ),
    "docker compose exec backend upstage mirror --to mirror": (
        "tests/test_mirror.py::test_an_operator_copies_and_switches"
    ),
    "docker compose run --rm --no-deps backend upstage set-aside    # kept as "
    "/var/lib/upstage/damaged-20261124-101500.db": (
        "backend/tests/test_damage.py::test_a_server_starts_on_no_damaged_database_and_says_what_to_type"
    ),
    "make load": "tests/test_load.py::test_a_healthy_stack_passes",
    "make compare": "tests/test_load.py::test_topologies_are_compared",
    "make lab LAB=upstage": "labs/tests/test_lab_stack.py::test_a_lab_from_beginning_to_end",
    "docker compose ps": "tests/test_containers.py::test_plain_compose_commands_work",
    "docker compose logs": "tests/test_containers.py::test_plain_compose_commands_work",
    "docker compose exec -T second upstage admin-password": (
        "tests/test_theatres.py::test_one_word_adds_a_theatre_and_without_it_the_data_are_kept"
    ),
    """\
echo "a password" | docker compose exec -T backend upstage player add ann --rights act
sleep 1 # the running backend reads new accounts once a second
curl -T picture.jpg --user "ann:a password" ftp://localhost:2121/ann.jpg""": (
        "tests/test_workshop.py::test_a_webcam_is_an_avatar"
    ),
    """\
make class N=20          # open; twice: opens what is missing
make class-status        # health, memory, CPU, lessons done
make class-reset WHO=7   # copy 7 as new
make class-down          # close""": CLASS,
    "make class N=20": CLASS,
    "make class-status": CLASS,
    "make class-status JSON=1": CLASS,
    "make class-reset WHO=7": CLASS,
    "make class-down": CLASS,
    "python tests/floods.py --plot floods.png": "tests/test_floods.py::test_no_response_is_cut_short",
}
# These run this test, ask the package index, or take ten minutes.
BY_HAND = {
    "make test",
    "make test ONLY=static",
    "make test-all",
    "make test ONLY=vtc",
    "make test ONLY=unit",
    "make test-all ONLY=images",
}
BY_HAND |= {"make up\nmake test", "make lock", "make bench"}
CORE = ("nginx", "varnish", "backend", "policyd", "locust")
# Commands that start a stack.
START = re.compile(r"(make up|docker compose (-f \S+ )*up)\b[^\n]*")


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
        commands |= set(re.findall(r"`((?:make |docker compose|varnishtest|python tests/)[^`]*)`", prose))
    return {re.sub(r"\s+", " ", command) for command in commands}


def proof(command: str) -> str:
    """The test that runs a command; any URL or set of Compose files stands for all."""
    if START.fullmatch(command):
        return "tests/test_documented_commands.py::test_start"
    command = re.sub(r"URL=\S+( HEADER='.*')?", "URL=/media/fox.svg", command)
    command = re.sub(r"compose (-f \S+ )*logs.*", "compose logs", command)
    return ELSEWHERE.get(command, "")


def test_every_command_in_a_sentence_has_a_test() -> None:
    missing = {command for command in inline_commands() if command not in BY_HAND and not proof(command)}
    assert not missing, f"Name the test that runs them in ELSEWHERE: {sorted(missing)}"


@pytest.mark.parametrize("command", ELSEWHERE)
def test_that_test_exists(command: str) -> None:
    file, _, function = ELSEWHERE[command].partition("::")
    assert re.search(rf"^def {function}\b", (REPO / file).read_text(), re.M), ELSEWHERE[command]


def test_elsewhere_is_up_to_date() -> None:
    used = {proof(command) for command in inline_commands() | {block.commands for block in blocks()}}
    assert used >= set(ELSEWHERE.values())


def starts() -> list[str]:
    """The commands that start a stack: `make` first, because it builds the images, and native mode last."""
    printed = inline_commands() | {block.commands for block in blocks()}
    found = filter(START.fullmatch, printed)
    return sorted(found, key=lambda command: ("native" in command, "docker" in command, command))


@pytest.fixture(scope="module")
def other() -> Iterator[Stack]:
    """A stack for the commands that start one."""
    if os.environ.get("ENGINE") == "no":
        pytest.skip("no container engine can run here (make test said why)")
    other = Stack("auto", PROJECT + "-documented")
    other.settings = webcam_ports()
    yield other
    other.make("clean")


def running(stack: Stack) -> set[str]:
    """Names of the services that run; an extra's service by the extra's name."""
    services = stack.compose("ps", "--services", "--status", "running")
    return set(services.replace("locust-worker", "workers").split())


@pytest.mark.slow
@pytest.mark.parametrize("command", starts())
def test_start(other: Stack, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The site answers; the core's services run, those of the extras in the command, and no others."""
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
    example = "extras/theatres/example.yaml"
    if example in command:
        first = other.ports["THEATRES_SWF_PORT"]
        own_ports = tmp_path / "example.yaml"
        own_ports.write_text((REPO / example).read_text().replace(":7231-7232:", f":{first}-{first + 1}:"))
        command = command.replace(example, str(own_ports))
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
                expected = set(",".join([*CORE, *extras]).split(",")) - {"direct"}  # opens a port of nginx
                expected |= {"camera"} if "webcam" in expected else set()  # that extra has two services
                if "THEATRES" in command or "example" in command:
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
    "block", [each for each in blocks() if each.commands not in BY_HAND and not proof(each.commands)], ids=str
)
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
        stack.wait_until_ready()
