"""The commands on machines without an engine, images or programs, which the test's own PATH simulates."""

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from proscenium import runs
from tests.bare import UNPRIVILEGED, compose_file, engine, files, functions, note, run


def test_nothing_usable_is_one_clear_line_and_changes_nothing(bare: Path) -> None:
    before = files(bare)
    done = run(bare, "up", user=UNPRIVILEGED)
    assert done.returncode == 1
    lines = (done.stdout + done.stderr).splitlines()
    assert len(lines) == 1, lines
    assert "no container engine answers" in lines[0]
    assert "Type: " in lines[0]
    assert "nginx" in lines[0]
    assert files(bare) == before


@pytest.mark.parametrize(
    ("command", "settings", "complaint"),
    [
        ("up", {"MODE": "containers"}, "MODE=native"),
        ("up", {"MODE": "cloud"}, "MODE is 'cloud'"),
        (
            "up",
            {"EXTRAS": "app", "APP": "https://shop.internal", "MODE": "native"},
            "native mode has no relay",
        ),
        ("mirror", {"TO": "elsewhere"}, "TO is 'elsewhere'; it can be backend or mirror."),
        ("up", {"EXTRAS": "mirror,curtain"}, "'curtain'; there are only: app direct edge"),
    ],
)
def test_a_setting_that_cannot_be_used_is_refused(
    bare: Path, command: str, settings: dict[str, str], complaint: str
) -> None:
    done = run(bare, command, user=UNPRIVILEGED, **settings)
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert complaint in line


@pytest.mark.parametrize("mode", ["", "containers", "native"])
def test_a_command_for_a_running_stack_fails_without_one(bare: Path, mode: str) -> None:
    """The stack was never started, or has been stopped."""
    if mode:
        (bare / ".run" / "proscenium").mkdir(parents=True)
        (bare / ".run" / "proscenium" / "mode").write_text(mode)
    for command in ("status", "logs", "load", "compare", "reload", "purge", "reset"):
        done = run(bare, "stack", command, URL="/")
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == "The stack 'proscenium' is not running. Type: make up\n"
    (bare.parent / "bin" / "python3").symlink_to(sys.executable)
    for command in ("watch", "trace", "mirror", "backup"):
        assert run(bare, command).stderr == "The stack 'proscenium' is not running. Type: make up\n"


def test_there_is_nothing_to_stop_on_a_stack_that_was_never_started(bare: Path) -> None:
    for command in ("down", "clean"):
        done = run(bare, "stack", command)
        assert (done.returncode, done.stderr) == (0, "")
        assert "nothing to do" in done.stdout


def test_clean_after_down_removes_the_data_of_a_stack_that_compose_has_started(bare: Path) -> None:
    log = engine(
        bare,
        "'compose down'*) rm -f container",
        f"*working_dir*) [ ! -e container ] || echo '{bare}'",
        "'volume rm'*)",
        "'volume ls'*) echo data",
    )
    (bare / "container").write_text("1")
    assert run(bare, "stack", "down").returncode == 0
    done = run(bare, "stack", "clean")
    assert (done.returncode, done.stderr) == (0, "")
    assert "volume rm data" in log.read_text()


def test_clean_leaves_data_that_may_be_another_checkouts(bare: Path) -> None:
    log = engine(bare, "*working_dir*)", "'volume ls'*) echo data")
    done = run(bare, "stack", "clean")
    assert done.returncode == 1
    assert "docker compose down --volumes" in done.stderr
    assert "volume rm" not in log.read_text()


@pytest.mark.parametrize("before", ["", "containers", "native"])
def test_a_stack_that_compose_has_started_is_known(bare: Path, before: str) -> None:
    """This holds whatever was started and stopped here before."""
    if before:
        note(bare, "mode", before)
    log = engine(bare)
    assert run(bare, "stack", "status").returncode == 0
    assert "compose ps" in log.read_text()


def test_the_status_names_every_service_that_is_not_well_and_fails(bare: Path) -> None:
    note(
        bare,
        "broken",
        "Varnish hangs\n",
    )
    states = (
        "nginx running healthy",
        "varnish exited",
        "backend paused",
        "own running",
        "policyd running unhealthy",
    )
    engine(
        bare,
        *("'compose ps'*Health*) printf '%s\\n' " + " ".join(f"'{state}'" for state in states),),
        "'compose config --services') printf '%s\\n' nginx varnish backend own policyd locust",
    )
    done = run(bare, "stack", "status")
    assert (done.returncode, done.stderr) == (1, "")
    wrong = {
        "varnish is stopped": "make up",
        "backend is paused": "docker compose unpause backend",
        "policyd is unhealthy": "docker compose restart policyd",
        "locust is missing": "make up",
    }
    broken = "Broken on purpose: Varnish hangs. Type: make mend"  # the only advice in this case
    assert done.stdout.splitlines() == [*(f"{what}." for what in wrong), broken]
    (bare / ".run" / "proscenium" / "broken").unlink()
    done = run(bare, "stack", "status")
    assert done.stdout.splitlines() == [f"{what}. Type: {cure}" for what, cure in wrong.items()]
    assert done.returncode == 1
    engine(bare, "'compose ps'*Health*) exit 1")  # Compose does not accept the files
    assert run(bare, "stack", "status").returncode == 1


def test_nothing_is_reloaded_without_varnish(bare: Path) -> None:
    log = engine(bare, "'ps --all'*.service?}}*) echo varnish", "ps*service=varnish*)")
    done = run(bare, "stack", "reload")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "varnish is not running. Type: make up\n")
    assert "exec" not in log.read_text()


def test_a_purge_is_of_the_path_of_an_address(bare: Path) -> None:
    log = engine(bare, "exec*)")
    done = functions(bare, "bin/stack purge", URL="http://classic.localhost:8080/media/diva.svg?new")
    assert done.stdout.startswith("Varnish has dropped /media/diva.svg on every host, with every query.")
    assert "exec -i 1 upstage purge /media/diva.svg\n" in log.read_text()


def test_a_reset_is_of_the_stage_that_was_typed(bare: Path) -> None:
    log = engine(bare, "exec*)")
    assert "of rehearsal are removed" in functions(bare, "bin/stack reset", STAGE="rehearsal").stdout
    assert "exec -i 1 upstage stage reset rehearsal\n" in log.read_text()


def test_compose_asks_no_question_that_would_wait_for_an_answer(bare: Path) -> None:
    engine(bare, "'compose up'*) if read -r answer; then echo asked; exit 1; fi", "*)")
    done = functions(bare, "build_images() { :; }; stack_up", typed="y\n")
    assert done.returncode == 0, done


def test_the_status_has_the_alerts_of_prometheus(bare: Path) -> None:
    firing = "Alert firing for 20 s: The backend does not answer (BackendDown)"
    for services, says, code in (
        ("nginx", "", 0),
        ("nginx exporter prometheus", "Alerts: none", 0),
        ("nginx exporter prometheus", firing, 1),
    ):
        alerts = f"'exec -i 1 python -m exporter.alerts') echo '{says}'; exit {code}"
        engine(bare, f"ps*.service?}}}}*) printf '%s\\n' {services}", alerts)
        done = functions(bare, "stack_status")
        assert (done.stdout.strip(), done.returncode) == (says, code)


def test_the_running_stacks_theatres_are_those_that_have_containers(bare: Path) -> None:
    note(bare, "theatres/01-second.yaml", "")
    note(bare, "theatres/02-third.yaml", "")
    for services, theatres in (
        ("nginx backend", ""),
        ("nginx backend third", "third"),
        ("nginx backend second third", "second third"),
        ("", "second third"),  # a stopped stack: the theatres of the last start
    ):
        engine(bare, f"ps*.service?}}}}*) printf '%s\\n' {services}")
        assert functions(bare, "mode=containers; started_theatres").stdout == f"{theatres}\n"
        assert functions(bare, "mode=native; started_theatres").stdout == "second third\n"


def test_clean_keeps_the_images(bare: Path) -> None:
    """A machine that was opened from a bundle could not build them again."""
    log = engine(bare, "'compose down'*|'volume ls'*)")
    assert run(bare, "stack", "clean").returncode == 0
    commands = log.read_text()
    assert "--volumes" in commands
    assert not re.search(r"^(rmi|image)|--rmi|prune", commands, re.M)


def test_locust_and_its_workers_start_again_when_a_file_that_they_read_has_changed(bare: Path) -> None:
    log = engine(
        bare,
        "ps*service=locust-worker*) echo 2; echo 3",
        "ps*service=locust*) echo 1",
        "inspect*) echo 2033-01-01T00:00:00.5Z; echo 2009-01-01T00:00:00.123456789Z",  # a worker is older
        "'exec -i 1 sh -c own='*) [ ! -e loadtest/mine/broken.py ]",
        "restart*)",
    )
    for path in (bare / "loadtest").rglob("*"):
        os.utime(path, (1_200_000_000, 1_200_000_000))  # 2008
    read = ("locustfile.py", "users/player.py", "locust.conf", "verdict/thresholds.toml")
    for file in ("", *read, "README.md", "tests/test_shapes.py"):
        changed = bare / "loadtest" / file
        os.utime(changed, (1_300_000_000, 1_300_000_000))
        assert functions(bare, "restart_changed_locust").returncode == 0
        assert ("restart -t 5 1 2 3" in log.read_text()) == (file in read), file
        log.unlink()
        os.utime(changed, (1_200_000_000, 1_200_000_000))
    (bare / "loadtest" / "mine" / "broken.py").touch()
    assert "old files" in functions(bare, "restart_changed_locust").stderr
    assert "restart" not in log.read_text()


@pytest.mark.parametrize(
    ("arguments", "settings", "complaint"),
    [
        (["open", "abc"], {}, "N is 'abc'"),
        (["open", "2"], {"VARNISH_STORAGE": "often"}, "VARNISH_STORAGE must be"),  # the copies inherit it
        (["reset", "abc"], {}, "WHO is 'abc'"),
        (["open", "2"], {"CLASS_PORTS": "20050"}, "CLASS_PORTS must be"),
        (["open", "99"], {"CLASS_PORTS": "60000"}, "choose a lower CLASS_PORTS"),
    ],
)
def test_a_class_is_refused_before_the_engine_is_asked(
    bare: Path, arguments: list[str], settings: dict[str, str], complaint: str
) -> None:
    log = engine(bare)
    (bare.parent / "bin" / "python3").symlink_to(sys.executable)
    (bare.parent / "bin" / "git").symlink_to(shutil.which("git") or "/usr/bin/git")
    done = run(bare, "class", *arguments, user=None, **settings)
    assert done.returncode == 1
    [line] = (done.stdout + done.stderr).splitlines()
    assert complaint in line
    assert not log.exists()


@pytest.mark.parametrize("command", ["load", "compare"])
def test_a_load_that_fails_to_start_names_no_report(bare: Path, command: str) -> None:
    """An earlier report is not presented as this run's."""
    engine(bare)
    report = bare / ".run" / "proscenium" / command
    report.mkdir(parents=True)
    (report / "report.html").touch()
    done = run(bare, "stack", command)
    assert done.returncode != 0
    assert "The report" not in done.stdout
    assert list(report.iterdir()) == []


def test_a_load_passes_on_what_was_typed(bare: Path) -> None:
    log = engine(bare, "exec*)")
    (bare.parent / "bin" / "head").symlink_to(shutil.which("head") or "/usr/bin/head")
    run(bare, "stack", "load", user=None, USERS="3", CLASSES="Talker Reader")
    assert "-e USERS=3 " in log.read_text()
    assert "-e CLASSES=Talker Reader " in log.read_text()
    assert "locust python run.py load\n" in log.read_text()


def test_every_variable_of_the_load_commands_reaches_locust(bare: Path) -> None:
    """Containers get only those that are named; a kept run keeps all that `make load` takes."""
    taken: dict[str, set[str]] = {}
    for line in (bare / "bin" / "lib" / "commands.txt").read_text().splitlines():
        if re.match("[a-z]", line):
            command = line.split()[0]
        elif variable := re.match("    ([A-Z_]+)=", line):
            taken.setdefault(command, set()).add(variable[1])
    passed = set(functions(bare, 'echo "${load_variables[@]}"').stdout.split())
    taken["compare"] = taken["compare"] - {"BASELINE", "SECONDS"} | {"LENGTH"}  # the Makefile renames it
    assert set(runs.OPTIONS) == taken["load"] - {"SAVE"}
    assert passed - {"LOADTEST_PROCESSES"} == {*runs.OPTIONS, *taken["compare"], *taken["soak"]}


def test_a_load_that_is_refused_keeps_the_last_report(bare: Path) -> None:
    engine(bare, "'compose exec'*) echo 'USERS: many is no number' >&2; exit 64")
    report = bare / ".run" / "proscenium" / "load" / "report.html"
    report.parent.mkdir(parents=True)
    report.touch()
    done = run(bare, "stack", "load", user=None, USERS="many")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "USERS: many is no number\n")
    assert report.exists()


@pytest.mark.parametrize(
    ("command", "settings", "complaint"),
    [
        ("compare", {"PATHS": "README.md", "STAGE": "demo"}, "STAGE is for UpStage, not for the PATHS"),
        ("soak", {"MINUTES": "4"}, "MINUTES must be a number from 5 to 9999, not '4'"),
        ("purge", {}, "Say what: make purge URL="),
        ("purge", {"URL": "/media/fox.svg", "TAG": "media"}, "URL or TAG, not both"),
        ("purge", {"URL": "/media/fox.svg", "ALL": "1"}, "ALL stands for everything"),
        *(("purge", {"URL": url}, "it must be a path") for url in ("a.svg", "http://localhost", "/a b")),
    ],
)
def test_a_mistake_in_a_command_for_a_running_stack_is_named(
    bare: Path, command: str, settings: dict[str, str], complaint: str
) -> None:
    log = engine(bare)
    done = run(bare, "stack", command, user=None, **settings)
    assert (done.returncode, done.stdout) == (1, "")
    assert complaint in done.stderr
    assert "exec" not in log.read_text()


def test_extras_become_compose_files(bare: Path) -> None:
    assert compose_file(bare) == "compose.yaml"
    ring = "compose.yaml:extras/ring/compose.yaml:extras/observe/compose.yaml:extras/observe/ring.yaml"
    assert compose_file(bare, EXTRAS="ring,observe") == ring  # the metrics are those of each Varnish
    chosen = "compose.yaml:extras/mirror/compose.yaml:extras/inspect/compose.yaml"
    for separated in ("mirror,inspect", "mirror inspect", "mirror, inspect"):
        assert compose_file(bare, EXTRAS=separated) == chosen
    (bare / ".env").write_text("EXTRAS=mirror,inspect\n")
    assert compose_file(bare) == chosen
    assert compose_file(bare, EXTRAS="") == "compose.yaml"
    assert compose_file(bare, COMPOSE_FILE="mine.yaml") == "mine.yaml"

    override = bare / "compose.override.yaml"
    functions(bare, ". offline/images.sh; write_override")  # for plain Compose commands
    assert compose_file(bare) == chosen
    override.write_text(f"{override.read_text()}# mine\n")
    assert compose_file(bare) == f"{chosen}:compose.override.yaml"
