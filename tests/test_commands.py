"""The commands on machines without an engine, images or programs, simulated by a PATH of the test's own."""

import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from bare import compose_file, engine, functions, run
from stack import REPO, draw_ports
from support.ports import free_port_range, free_ports

NOBODY = 65534 if os.getuid() == 0 else None  # the user: nothing is installed for it


def files(folder: Path) -> set[Path]:
    return {path.relative_to(folder) for path in folder.rglob("*")}


def test_nothing_usable_is_one_clear_line_and_changes_nothing(bare: Path) -> None:
    before = files(bare)
    done = run(bare, "up", user=NOBODY)
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
        ("mirror", {"TO": "elsewhere"}, "TO is 'elsewhere'; it can be backend or mirror."),
        ("up", {"EXTRAS": "mirror,curtain"}, "'curtain'; there are only: cluster direct edge grafana"),
    ],
)
def test_a_setting_that_cannot_be_used_is_refused(
    bare: Path, command: str, settings: dict[str, str], complaint: str
) -> None:
    done = run(bare, command, user=NOBODY, **settings)
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert complaint in line


@pytest.mark.parametrize("closed", ["nginx/sites", "varnish/start.sh", "health.sh"])
def test_a_checkout_with_a_strict_umask_is_rejected_with_the_remedy(bare: Path, closed: str) -> None:
    """Containers read the files as other users. A private key beside them keeps its mode."""
    engine(bare, "*)")  # it accepts every command
    (bare / "nginx" / "a-users-own.key").touch(mode=0o600)
    (bare / closed).chmod(0o700)
    done = run(bare, "up")
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert f"cannot read '{closed}'" in line
    command = line.split("Type: ")[1]
    assert f"Type: {command}" in run(bare, "doctor").stdout
    subprocess.run(["sh", "-c", command], cwd=bare, check=True)
    assert "cannot read" not in run(bare, "doctor").stdout


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_doctor_names_what_is_missing_and_what_to_type(bare: Path, family: socket.AddressFamily) -> None:
    """A program on [::1] takes a port, too: browsers try that address first for localhost."""
    before = files(bare)
    taken, free = free_ports(2)
    address = {socket.AF_INET: "127.0.0.1", socket.AF_INET6: "::1"}[family]
    with socket.create_server((address, taken), family=family):
        done = run(bare, "doctor", HTTP_PORT=str(taken), SWF_PORT=str(free), user=NOBODY)
    report = done.stdout.splitlines()
    assert any("container engine" in line and "sudo make up" in line for line in report), done
    assert any("varnish" in line and "apt-get install" in line for line in report)
    assert any("chromium" in line and "make test" in line for line in report)
    assert any(
        f"HTTP_PORT {taken}" in line and f"{address}" in line and "Type: make up HTTP_PORT=" in line
        for line in report
    )
    assert any(f"SWF_PORT {free}" in line and "free" in line for line in report)
    assert files(bare) == before


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


def note(bare: Path, name: str, text: str) -> None:
    """Write a note as an earlier `make up` would have left it."""
    (bare / ".run" / "proscenium").mkdir(parents=True, exist_ok=True)
    (bare / ".run" / "proscenium" / name).write_text(text)


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
        "fault.json",
        '{"name": "x", "title": "Varnish hangs", "users": "", "broken": 5.0, "mended": 0.0}',
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
    assert done.stdout.splitlines() == [
        "varnish is stopped. Type: make up",
        "backend is paused. Type: make up",
        "policyd is unhealthy. Type: make up",
        "locust is missing. Type: make up",
        "Broken on purpose: Varnish hangs. Type: make mend",
    ]
    engine(bare, "'compose ps'*Health*) exit 1")  # Compose does not accept the files
    assert run(bare, "stack", "status").returncode == 1


@pytest.mark.parametrize(
    ("command", "settings", "complaint"),
    [
        ("reload", {}, "varnish is not running. Type: make up"),
        ("load", {"USERS": "abc"}, "USERS must be a number from 1 to 99999, not 'abc'"),
    ],
)
def test_a_command_that_would_do_nothing_fails(
    bare: Path, command: str, settings: dict[str, str], complaint: str
) -> None:
    log = engine(bare, "'ps --all'*.service?}}*) echo varnish", "ps*service=varnish*)")
    done = run(bare, "stack", command, user=None, **settings)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"{complaint}\n")
    assert "exec" not in log.read_text()


def test_what_a_shell_exports_for_other_programs_changes_nothing(bare: Path, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", bare], check=True)
    (tmp_path / "bin" / "lib").mkdir(parents=True, exist_ok=True)
    hostile = {
        **{"CDPATH": str(tmp_path), "GIT_DIR": "/nonexistent", "GIT_EXTERNAL_DIFF": "/nonexistent"},
        **{
            "LC_ALL": "tr_TR.UTF-8",
            "LANGUAGE": "de",
            "PYTHONPATH": "/nonexistent",
            "PYTHONHOME": "/nonexistent",
        },
        **{"PIP_USER": "1", "PIP_TARGET": "/nonexistent", "PIP_REQUIRE_VIRTUALENV": "1", "MAKEFLAGS": "n"},
        **{
            "COMPOSE_FILE": "compose.yaml;mine.yaml",
            "COMPOSE_PATH_SEPARATOR": ";",
            "http_proxy": "http://x:1",
        },
    }
    ask = "pwd; git rev-parse --show-toplevel; i=title; echo ${i^^} $PIP_USER $COMPOSE_FILE;"
    ask += """ "${python[@]}" -c 'import urllib.request as u; print(u.proxy_bypass("192.0.2.1"))'; env"""
    done = functions(bare, ask, **hostile)
    top, git_top, word, bypassed, *environment = done.stdout.splitlines()
    assert (top, git_top, word, bool(bypassed)) == (
        str(bare),
        str(bare),
        "TITLE 0 compose.yaml:mine.yaml",
        True,
    )
    left = dict(line.split("=", 1) for line in environment if "=" in line)
    assert not left.keys() & {
        "CDPATH",
        "GIT_DIR",
        "LANGUAGE",
        "PYTHONPATH",
        "PYTHONHOME",
        "PIP_TARGET",
        "MAKEFLAGS",
    }


@pytest.mark.parametrize(
    ("typed", "refused"),
    [
        (("load", "USERS=3", "CLASSES=Reader", "HTTP_PORT=1"), ""),
        (
            ("load", "USRES=3"),
            "make load knows no USRES; it takes CLASSES, USERS and the settings of .env.example",
        ),
        (("status", "URL=/"), "make status knows no URL; it takes the settings of .env.example"),
        (("clean", "up", "EXTRAS=ring", "no_proxy=x"), ""),
    ],
)
def test_a_variable_that_a_command_does_not_read_is_refused(typed: tuple[str, ...], refused: str) -> None:
    done = subprocess.run(["make", "-n", *typed], cwd=REPO, capture_output=True, text=True)
    assert bool(done.returncode) == bool(refused), done
    assert refused in done.stderr


def test_what_a_shell_exports_for_itself_is_no_variable_of_a_command(bare: Path) -> None:
    """HOST, TAG and URL are in the environment of many; settings come from there as Compose takes them."""
    with (bare / "Makefile").open("a") as makefile:
        makefile.write("\nwatch: print\nprint:\n\t@env\n")
    ours = {"HOST": "pc", "LESSON": "2", "SITE": "example.org", "EXTRAS": "ring", "HTTP_PORT": "1"}
    environment = {"PATH": os.environ["PATH"], **ours}
    seen = subprocess.run(
        ["make", "print"], cwd=bare, env=environment, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert {line.partition("=")[0] for line in seen} & {*ours} == {"EXTRAS", "HTTP_PORT"}


def test_a_stack_of_another_checkout_is_left_alone(bare: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    log = engine(bare, f"*working_dir*) echo {other}", "'image inspect'*)")
    (bare.parent / "bin" / "python3").symlink_to(sys.executable)
    for script in (
        ("up",),
        ("stack", "down"),
        ("stack", "clean"),
        ("stack", "reload"),
        ("watch",),
        ("backup",),
    ):
        done = run(bare, *script)
        assert done.returncode == 1
        assert f"belongs to the checkout {other}; this one is {bare}." in done.stderr
    assert not re.search("^(stop|rm|restart|exec|compose (up|down))", log.read_text(), re.M)
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    assert functions(bare, f"is_gone {closed}").returncode == 1
    assert "belongs" in run(bare, "fault", "mend").stderr
    other.rmdir()  # that checkout has been moved here
    assert "belongs" not in run(bare, "stack", "status").stderr


VOLUMES = """volumes:
  data:
    name: x_data
  sockets:
    name: x_sockets
    driver_opts:
      o: uid=1000,size=1m
      type: tmpfs
"""


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("o=uid=1000,size=1m type=tmpfs ", ""),
        ("o=size=2m type=tmpfs ", "Making x_sockets anew"),
        (
            "device=/srv o=bind type=none ",
            "The volume x_sockets has data, and was made as 'device=/srv o=bind",
        ),
    ],
)
def test_a_volume_of_another_version_is_made_anew_if_it_holds_nothing(
    bare: Path, options: str, said: str
) -> None:
    log = engine(
        bare,
        f"'compose config') printf '%s' '{VOLUMES}'",
        f"'volume inspect'*x_sockets) echo '{options}'",
        "'volume inspect'*) echo",
        "'volume rm'*|'compose down'*)",
    )
    done = functions(bare, "renew_volumes")
    assert said in done.stdout + done.stderr
    assert ("volume rm x_sockets" in log.read_text()) == ("anew" in said)
    assert done.returncode == (1 if "has data" in said else 0)


def test_compose_is_asked_nothing_where_nobody_reads_the_question(bare: Path) -> None:
    engine(bare, "'compose up'*) if read -r answer; then echo asked; exit 1; fi", "*)")
    done = subprocess.run(
        ["bash", "-c", ". bin/lib/common.sh; . bin/lib/containers.sh; build_images() { :; }; containers_up"],
        cwd=bare,
        env={"PATH": f"{bare.parent / 'bin'}:{os.environ['PATH']}"},
        input="y\n",
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done


def test_a_user_outside_the_group_docker_is_told_just_that(bare: Path) -> None:
    engine(bare, "info|ps*) echo 'permission denied while trying to connect' >&2; exit 1")
    for command in (("up",), ("stack", "status"), ("stack", "down"), ("backup",)):
        done = run(bare, *command, user=NOBODY)
        [line] = done.stderr.splitlines()
        assert "is not in the group docker. Type: sudo usermod -aG docker " in line
        assert done.returncode == 1
    assert "is not in the group docker" in run(bare, "doctor", user=NOBODY).stdout


@pytest.mark.parametrize(
    ("version", "outdated"),
    [("2.24.3", True), ("v1.29.2", True), ("2.24.4-desktop.1", False), ("v5.6.1", False)],
)
def test_a_compose_that_is_too_old_is_refused(bare: Path, version: str, outdated: bool) -> None:
    engine(bare, f"'compose version'*) echo {version}")
    done = functions(bare, ". bin/lib/engine.sh; ensure_engine")
    assert bool(done.returncode) == outdated
    assert (f"Compose {version} is too old: 2.24.4 or newer is needed" in done.stderr) == outdated


def test_the_status_has_the_alerts_of_prometheus(bare: Path) -> None:
    alerts = "'exec -i 1 python -m exporter.alerts') echo Alerts: none"
    for services, printed in (("nginx", ""), ("nginx exporter prometheus", "Alerts: none\n")):
        engine(bare, f"ps*.service?}}}}*) printf '%s\\n' {services}", alerts)
        assert functions(bare, "containers_status").stdout == printed


def test_the_running_stacks_theatres_are_those_that_have_containers(bare: Path) -> None:
    note(bare, "theatres.yaml", '# THEATRES="second third": ...\n')
    for services, theatres in (
        ("nginx backend", ""),
        ("nginx backend third", "third"),
        ("nginx backend second third", "second third"),
        ("", "second third"),  # stopped: the theatres of the last start
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
        '"exec -i 1 locust --list") [ ! -e loadtest/mine/broken.py ]',
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


def test_the_reason_of_a_service_that_did_not_become_healthy_stands_last(bare: Path) -> None:
    engine(
        bare,
        "'compose up'*) echo 'dependency failed to start'; exit 1",
        "'compose ps'*) echo 'backend running unhealthy'; echo 'policyd exited '; echo 'varnish created ';"
        " echo 'nginx running healthy'; echo 'own running '",
        "'compose logs'*backend) echo first; echo 'UPSTAGE_SIGNUP=maybe: expected open or closed'; echo last",
        "'compose logs'*) echo begins; echo ends",
    )
    done = functions(bare, "build_images() { :; }; containers_up")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "backend policyd did not become healthy.",
        "backend: UPSTAGE_SIGNUP=maybe: expected open or closed",
        "policyd: ends",
    ]
    assert "last\n" in done.stdout
    engine(bare, "'compose up'*) echo 'port is already allocated'; exit 1")
    done = functions(bare, "build_images() { :; }; containers_up")
    assert done.stderr == "Compose could not start the services: port is already allocated\n"


def test_the_reason_stands_last_in_native_mode(bare: Path) -> None:
    logs = bare / "log"
    logs.mkdir()
    (logs / "nginx.log").write_text("nginx: [emerg] bind() to 127.0.0.1:80 failed\nbye\n")
    native = "NATIVE_RUN=$PWD; sleep() { :; }; native_health() { false; }; wait_for_native_health nginx"
    done = functions(bare, native)
    assert done.stderr.splitlines()[-2:] == [
        "nginx did not become healthy.",
        "nginx: nginx: [emerg] bind() to 127.0.0.1:80 failed",
    ]


@pytest.mark.parametrize(("redirect", "address"), [("off", "http://{}:{}/"), ("on", "https://{}:{}/")])
def test_up_prints_the_addresses_of_the_names(bare: Path, redirect: str, address: str) -> None:
    engine(bare, f"*working_dir*) echo {bare}", "ps*) echo 1", "exec*admin-password) echo secret", "*)")
    ports = draw_ports()
    settings = {name: str(port) for name, port in ports.items()} | {"HTTPS_REDIRECT": redirect}
    done = functions(bare, "bin/up", SERVER_NAMES="stage.example *.example 192.0.2.7", **settings)
    assert done.returncode == 0, done
    port = ports["HTTPS_PORT" if redirect == "on" else "HTTP_PORT"]
    also = [line.split()[-1] for line in done.stdout.splitlines() if "also as" in line]
    assert also == [address.format(name, port) for name in ("stage.example", "192.0.2.7")]


@pytest.mark.parametrize(
    ("arguments", "settings", "complaint"),
    [
        (["open", "abc"], {}, "N is 'abc'"),
        (["open", "5"], {"CLASS_PORTS": "65000"}, "Copy 5 would need ports above 65535"),
        (["open", "2"], {"VARNISH_STORAGE": "often"}, "VARNISH_STORAGE must be"),  # the copies inherit it
        (["reset", "abc"], {}, "WHO is 'abc'"),
        (["page"], {"CLASS_PAGE_PORT": "abc"}, "CLASS_PAGE_PORT is 'abc'"),
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


@pytest.mark.parametrize(
    ("command", "settings", "complaint"),
    [
        ("compare", {"USERS": "many"}, "USERS must be a number from 1 to 99999, not 'many'"),
        ("purge", {}, "Say what: make purge URL="),
        ("purge", {"URL": "/media/fox.svg", "TAG": "media"}, "URL or TAG, not both"),
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


def test_the_environment_wins_over_the_env_file(bare: Path) -> None:
    (bare / ".env").write_text('# ports\nHTTP_PORT=1111\nSWF_PORT="2222"\nexport NOT=this\n')
    done = functions(bare, "echo $HTTP_PORT $SWF_PORT $POLICY_FILE_PORT", HTTP_PORT="3333")
    assert done.stdout.split() == ["3333", "2222", "3000"], done


def test_extras_become_compose_files(bare: Path) -> None:
    assert compose_file(bare) == "compose.yaml"
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


def test_the_metrics_of_a_ring_are_those_of_each_varnish(bare: Path) -> None:
    files = "compose.yaml:extras/ring/compose.yaml:extras/observe/compose.yaml:extras/observe/ring.yaml"
    assert compose_file(bare, EXTRAS="ring,observe") == files


def test_the_ports_of_chosen_extras_and_theatres_are_checked(bare: Path) -> None:
    stage, ftp = free_ports(2)
    passive, last = free_port_range(2)
    settings = {
        "THEATRES_SWF_PORT": str(stage - 1),
        "FTP_PORT": str(ftp),
        "FTP_PASSIVE_PORTS": f"{passive}-{last}",
    }
    with socket.create_server(("127.0.0.1", stage)), socket.create_server(("127.0.0.1", passive)):
        without = run(bare, "doctor", user=None, **settings).stdout
        chosen = {"EXTRAS": "webcam", "THEATRES": "second third"}
        report = run(bare, "doctor", user=None, **chosen, **settings).stdout.splitlines()
    assert f"{stage} " not in without
    assert f"FTP_PORT {ftp}" not in without
    moved = f"make up FTP_PASSIVE_PORTS={passive + 1000}-{passive + 1001}"
    for port, remedy in ((stage, f"make up THEATRES_SWF_PORT={stage + 999}"), (passive, moved)):
        [line] = [line for line in report if f" {port} " in line]
        assert "taken by another program" in line
        assert line.split("Type: ")[1] == remedy
    [line] = [line for line in report if f"FTP_PORT {ftp} " in line]
    assert "free" in line


def test_an_engine_that_cannot_start_is_named(bare: Path) -> None:
    """`docker` exists and `dockerd` ends immediately: the reason is printed."""
    if os.getuid() != 0 or Path("/run/systemd/system").is_dir():
        pytest.skip("only root starts an engine, and systemd would be asked, not dockerd")
    programs = bare.parent / "bin"
    for name in ("docker", "dockerd"):
        (programs / name).write_text("#!/bin/sh\nexit 1\n")
        (programs / name).chmod(0o755)
    (programs / "setsid").symlink_to(shutil.which("setsid") or "/usr/bin/setsid")
    done = run(bare, "up", MODE="containers")
    assert done.returncode == 1
    assert "does not start here" in done.stderr
