"""`make up` on a simulated machine: what it starts and prints, and its messages if it fails."""

import os
import shutil
from pathlib import Path

import pytest

from tests.bare import engine, functions, program, run
from tests.stack import draw_ports


def test_the_reason_of_a_service_that_did_not_become_healthy_stands_last(bare: Path) -> None:
    engine(
        bare,
        "'compose up'*) echo 'dependency failed to start'; exit 1",
        "'compose ps'*) echo 'backend running unhealthy'; echo 'policyd exited '; echo 'varnish created ';"
        " echo 'nginx running healthy'; echo 'own running '",
        "'compose logs'*backend) echo first; echo 'UPSTAGE_SIGNUP=maybe: expected open or closed'; echo last",
        "'compose logs'*) echo begins; echo ends",
    )
    done = functions(bare, "build_images() { :; }; stack_up")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "backend policyd did not become healthy.",
        "backend: UPSTAGE_SIGNUP=maybe: expected open or closed",
        "policyd: ends",
    ]
    assert "last\n" in done.stdout
    engine(bare, "'compose up'*) echo 'port is already allocated'; exit 1")
    done = functions(bare, "build_images() { :; }; stack_up")
    assert done.stderr == "Compose could not start the services: port is already allocated\n"


def test_the_reason_stands_last_in_native_mode(bare: Path) -> None:
    logs = bare / "log"
    logs.mkdir()
    (logs / "nginx.log").write_text("nginx: [emerg] bind() to 127.0.0.1:80 failed\nbye\n")
    native = ". native/native.sh; NATIVE_RUN=$PWD; native() { false; }; stack_start nginx"
    done = functions(bare, native)
    assert done.stderr.splitlines()[-2:] == [
        "nginx did not become healthy.",
        "nginx: nginx: [emerg] bind() to 127.0.0.1:80 failed",
    ]


@pytest.mark.parametrize(("redirect", "address"), [("off", "http://{}:{}/"), ("on", "https://{}:{}/")])
def test_up_prints_the_addresses_of_the_names(bare: Path, redirect: str, address: str) -> None:
    none = "ps*status=paused*|ps*health=*)"
    engine(bare, f"*working_dir*) echo {bare}", none, "ps*) echo 1", "exec*admin-password) echo secret", "*)")
    ports = draw_ports()
    settings = {name: str(port) for name, port in ports.items()} | {"HTTPS_REDIRECT": redirect}
    done = functions(bare, "bin/up", SERVER_NAMES="stage.example *.example 192.0.2.7", **settings)
    assert done.returncode == 0, done
    port = ports["HTTPS_PORT" if redirect == "on" else "HTTP_PORT"]
    also = [line.split()[-1] for line in done.stdout.splitlines() if "also as" in line]
    assert also == [address.format(name, port) for name in ("stage.example", "192.0.2.7")]


@pytest.mark.parametrize(
    ("context", "named"), [("default", "does not start here"), ("farm", "context 'farm'")]
)
def test_an_engine_that_cannot_start_is_named(bare: Path, context: str, named: str) -> None:
    """`docker` exists, but `dockerd` ends immediately; if the engine is remote, none is started here."""
    if os.getuid() != 0 or Path("/run/systemd/system").is_dir():
        pytest.skip("only root starts an engine, and systemd would be asked, not dockerd")
    programs = bare.parent / "bin"
    program(programs / "dockerd", "exit 1")
    program(programs / "docker", f'[ "$1 $2" = "context show" ] && echo {context}')
    (programs / "setsid").symlink_to(shutil.which("setsid") or "/usr/bin/setsid")
    done = run(bare, "up", MODE="containers")
    assert done.returncode == 1
    assert named in done.stderr


@pytest.mark.parametrize(
    ("log", "restarts", "ended"),
    [
        ('{"event": "waits for the data"}', 0, "old"),
        ("upstage: UPSTAGE_MAX_UNREAD must be a number", 1, "new"),
        ("", None, "new"),  # Compose cannot start it beside the other one
    ],
)
def test_a_changed_backend_starts_beside_the_old_one(
    bare: Path, log: str, restarts: int | None, ended: str
) -> None:
    """The old one ends only when the new one has started."""
    engine_log = engine(
        bare,
        "ps*service=backend*) echo old; [ ! -e beside ] || echo new",
        "inspect*config-hash*) echo 1 id image",
        "'image inspect'*image) echo id",
        f"'compose up -d --no-deps'*) touch beside; exit {int(restarts is None)}",
        f"'logs new') echo '{log}'",
        f"inspect*RestartCount*) echo true {restarts}",
        "stop*|rm*)",
    )
    (bare / ".run/logs").mkdir(parents=True, exist_ok=True)
    assert functions(bare, "replace_upstage backend 1").returncode == 0
    assert not (bare / "beside").exists()  # the container is as Compose would make it
    done = functions(bare, "replace_upstage backend 2")
    assert done.returncode == (restarts or 0)
    assert ("the old one goes on: upstage: UPSTAGE_MAX_UNREAD must be" in done.stderr) is bool(restarts)
    removed = [line.split()[-1] for line in engine_log.read_text().splitlines() if line.startswith("rm ")]
    assert removed == [ended]
