"""The commands where the stack runs on a Swarm or on Kubernetes; the test's own `docker` plays the engine."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from tests.bare import engine, functions, note, program

NO_COMPOSE = "*working_dir*|*compose.project=*)"
ON_A_SWARM = (NO_COMPOSE, "'service ls'*) echo 7x", "info*) echo active true")
HERE = "ps*swarm.service.name=proscenium_*) echo 5e"
ELSEWHERE = ("ps*swarm.service.name=*)", "'service ps'*proscenium_backend) echo machine-2")


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("up", "make cluster-up"),
        ("stack down", "make cluster-down"),
        ("stack clean", "make cluster-down"),
        ("stack reload", "make cluster-up"),
        ("stack soak", "http://localhost:8089/"),
        ("mirror", "make backup"),
        (
            "stack load",
            "docker exec $(docker ps -qf name=proscenium_locust) sh /etc/cluster/secrets.sh python",
        ),
        ("trace", "docker service logs proscenium_nginx 2>&1 | grep X-REQUEST-ID"),
        ("watch", "docker service logs --follow --tail 0 proscenium_nginx"),
        (
            "inside varnishlog",
            "docker exec -it $(docker ps -qf name=proscenium_varnish | head -n 1) varnishlog",
        ),
        ("lesson begin 1", "make up, on a machine without it"),
        ("fault break x", "make up, on a machine"),
    ],
)
def test_a_command_for_one_machine_says_what_to_type_on_a_swarm(bare: Path, command: str, line: str) -> None:
    """The Swarm's stack gets no other one beside it."""
    log = engine(bare, *ON_A_SWARM, HERE, "'image inspect'*|*)")
    done = functions(bare, f"bin/{command}")
    assert (done.returncode, done.stdout) == (1, "")
    [said] = done.stderr.splitlines()
    assert "runs on a Swarm" in said
    assert line in said
    assert not re.search("^(compose (?!version)|run|exec|volume)", log.read_text(), re.M)


@pytest.mark.parametrize(
    ("command", "typed"),
    [
        ("stack purge", "exec -i 5e upstage purge /media/fox.svg"),
        ("stack reset", "exec -i 5e upstage stage reset"),
        ("backup", "exec -i 5e upstage backup"),
    ],
)
def test_on_a_swarm_a_command_works_where_the_backend_runs(bare: Path, command: str, typed: str) -> None:
    note(bare, "mode", "containers")  # it was started and stopped before
    log = engine(bare, *ON_A_SWARM, HERE, "exec*) echo something")
    settings = {"URL": "/media/fox.svg", "FILE": str(bare.parent / "saved")}
    done = functions(bare, f"bin/{command}", **settings)
    assert (done.returncode, done.stderr) == (0, "")
    assert typed in log.read_text().splitlines()
    if command == "backup":
        assert (bare.parent / "saved").read_text() == "something\n"

    engine(bare, *ON_A_SWARM, *ELSEWHERE, "exec*) echo something")
    done = functions(bare, f"bin/{command}", **settings)
    assert (done.returncode, done.stdout) == (1, "")
    line = f"docker exec -i $(docker ps -qf name=proscenium_backend) {typed.removeprefix('exec -i 5e ')}"
    said = f"backend runs on machine-2. Type there: {line}"
    assert done.stderr.splitlines()[0] == said + (" >backup.tar.gz" if command == "backup" else "")

    # On a worker, where it does not run.
    engine(
        bare, NO_COMPOSE, "'service ls'*|'service ps'*|info*) exit 1", "ps*service.name=*)", "ps*) echo 6f"
    )
    done = functions(bare, f"bin/{command}", **settings)
    assert done.returncode == 1
    assert "no manager. Type, on a manager: make" in done.stderr


def test_the_status_on_a_swarm_names_what_is_not_there_yet(bare: Path) -> None:
    def status(varnishes: str, update: str) -> tuple[int, str]:
        services = f"'stack services'*) echo proscenium_nginx 1/1; echo proscenium_varnish {varnishes}"
        inspect = f"'service inspect'*proscenium_varnish) echo '{update}'"
        engine(bare, *ON_A_SWARM, services, inspect, "'service inspect'*)", "'stack ps'*) echo table", "ps*)")
        done = functions(bare, "bin/stack status")
        assert done.stderr == ""
        return done.returncode, done.stdout

    assert status("3/3", "completed") == (0, "table\n")
    assert status("3/3", "rollback_completed") == (0, "table\n")
    assert status("2/3", "paused") == (1, "table\nNot there yet: varnish 2/3 paused.\n")
    assert status("3/3", "updating") == (1, "table\nNot there yet: varnish 3/3 updating.\n")


def test_the_logs_on_a_swarm_are_those_of_every_service(bare: Path) -> None:
    services = "'stack services'*) echo proscenium_nginx; echo proscenium_varnish"
    engine(bare, *ON_A_SWARM, services, "'service logs'*) echo of \"${6}\"")
    done = functions(bare, "bin/stack logs")
    assert (done.returncode, sorted(done.stdout.splitlines())) == (
        0,
        ["of proscenium_nginx", "of proscenium_varnish"],
    )


def test_a_restore_on_a_swarm_stops_the_backend_meanwhile(bare: Path) -> None:
    (bare.parent / "saved").write_text("a backup")
    log = engine(
        bare,
        *ON_A_SWARM,
        "'service scale'*=0) touch stopped",
        "'service scale'*=1) rm stopped",
        "ps*service.name=*) [ -e stopped ] || echo 5e",
        "'service inspect'*Image*) echo mine/backend:1",
        "run*' restore --check') cat",
        "run*) [ -e stopped ] && cat",
        "exec*)",
    )
    done = functions(bare, "bin/restore", FILE=str(bare.parent / "saved"))
    assert (done.returncode, done.stderr) == (0, "")
    assert "It has a backup" in done.stdout
    changes = re.findall(r"^(?:service scale|run|exec)\b.*", log.read_text(), re.M)
    assert [" ".join(line.split()[-2:]) for line in changes] == [
        "restore --check",
        "--detach proscenium_backend=0",
        "upstage restore",
        "--detach proscenium_backend=1",
        "--tag media",
        "--tag lessons",
    ]
    assert "-v proscenium_data:/var/lib/upstage -v proscenium_media:/srv/media mine/backend:1" in changes[2]

    log = engine(bare, *ON_A_SWARM, *ELSEWHERE)
    done = functions(bare, "bin/restore", FILE=str(bare.parent / "saved"))
    assert done.returncode == 1
    assert "docker node promote machine-2, and there" in done.stderr


SERVICE = {
    "mem_limit": "1",
    "pids_limit": 1,
    "environment": {"BACKEND_ADDRESS": "backend:8081", "UNSET": None},
}
PROJECT = {
    "name": "proscenium",
    "services": {
        "nginx": SERVICE | {"image": "an/nginx:1", "user": "101:101"},
        "varnish": SERVICE | {"image": "a/varnish:1", "user": "1000:1000"},
    },
    "networks": {},
    "volumes": {},
}
# Instead of a container: the commands run here, in a folder of the test's own instead of /tmp.
CONTAINER = """run*)
    while [ $# -gt 0 ]; do
        case $1 in
        --env-file) while IFS= read -r line; do export "$line"; done <"$2" ;;
        esac
        last=$1 && shift
    done
    export PATH="$PWD/native/bin:$PATH:/usr/sbin" PREFIX="$PLACE" CERTIFICATE_FOLDER="$PLACE"
    mkdir -p "$PLACE" && cd "$PLACE" && exec sh -c "$(echo "$last" | sed "s|/tmp|$PLACE|g")" sh"""


def cluster(bare: Path, *answers: str) -> tuple[Path, dict[str, str]]:
    """An engine that is the manager of a Swarm, and the settings for it; a stack is deployed at once."""
    (bare / "project.json").write_text(json.dumps(PROJECT))
    log = engine(
        bare,
        *answers,
        "info*) echo active true",
        "'node ls'*) echo machine-1",
        "'compose config --format json') cat project.json",
        "'stack services'*) echo proscenium_varnish 3/3",
        "'service inspect'*) echo completed",
        CONTAINER,
        "*)",
    )
    return log, {"EXTRAS": "cluster", "PLACE": str(bare.parent / "place")}


def test_a_swarm_gets_no_files_that_nginx_or_varnish_does_not_accept(bare: Path) -> None:
    if not all(shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin") for name in ("nginx", "varnishd")):
        pytest.skip("this machine has no nginx or no varnishd, which take the containers' place")
    log, settings = cluster(bare)
    done = functions(bare, "bin/cluster up", **settings)
    assert (done.returncode, done.stderr) == (0, "")
    assert "stack deploy" in log.read_text()
    for broken, line, mistake in (
        ("varnish/pages.vcl", "sub vcl_recv { set req.http.X = ; }", "varnish/pages.vcl' Line "),
        ("varnish/handover.vcl", "sub vcl_recv { nothing }", "varnish/handover.vcl' Line "),
        ("nginx/limits/requests.conf.template", "nothing here;", 'unknown directive "nothing"'),
    ):
        log.unlink()
        before = (bare / broken).read_text()
        (bare / broken).write_text(f"{before}\n{line}\n")
        done = functions(bare, "bin/cluster up", **settings)
        (bare / broken).write_text(before)
        assert done.returncode == 1
        assert "does not accept its files, and nothing has been changed" in done.stderr
        assert mistake in done.stderr
        assert len(done.stderr.splitlines()) < 20, done.stderr
        assert "stack deploy" not in log.read_text()


def test_a_failed_update_says_why_and_how_to_go_back(bare: Path) -> None:
    _, settings = cluster(
        bare,
        "run*) cat >/dev/null",
        "'stack services'*) echo proscenium_nginx 1/1; echo proscenium_varnish 2/3",
        "'service inspect'*varnish) echo paused",
        "'stack ps'*) echo 'proscenium_varnish.1 on machine-2: task: non-zero exit (2)'",
        "'service logs'*varnish) echo 'There is no 12 MB of memory.'",
    )
    done = functions(bare, "bin/cluster up", **settings)
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "varnish 2/3 paused",
        "proscenium_varnish.1 on machine-2: task: non-zero exit (2)",
        "varnish, its last lines:",
        "There is no 12 MB of memory.",
        "To go back, type: docker service rollback proscenium_varnish",
    ]


def test_a_swarm_is_up_when_a_page_comes(bare: Path) -> None:
    page = "echo asked >>asked; [ $(wc -l <asked) -gt 2 ] || { echo 'error: 503'; exit 22; }"
    nginx = "ps*swarm.service.name=proscenium_nginx*) echo 5e"
    answers = ("run*) cat >/dev/null", nginx, f"exec*curl*'/admin/?[1-40]') {page}")
    _, settings = cluster(bare, *answers)
    done = functions(bare, "bin/cluster up", **settings)
    assert (done.returncode, done.stderr) == (0, "")
    assert (bare / "asked").read_text().count("asked") == 3


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("stack status", "get pods"),
        ("backup", "exec backend-0 -- upstage backup >backup.tar.gz"),
        ("stack load", "this command is for one machine. Type: kubectl -n proscenium get pods"),
        ("watch", "logs -f --prefix -l app=nginx"),
    ],
)
def test_a_stack_on_kubernetes_is_asked_for_last(bare: Path, command: str, line: str) -> None:
    engine(bare, "*working_dir*|'ps '*)")
    kubectl = bare.parent / "bin" / "kubectl"
    program(kubectl, f"echo \"$*\" >>'{bare.parent}/kubectl.log'\n[ \"$3 $5\" = 'backend proscenium' ]")
    done = functions(bare, f"bin/{command}")
    assert (done.returncode, done.stdout) == (1, "")
    [said] = done.stderr.splitlines()
    assert "runs on Kubernetes, in the namespace proscenium" in said
    assert line in said
    assert len((bare.parent / "kubectl.log").read_text().splitlines()) == 1
    program(kubectl, "exit 1")
    assert "is not running. Type: make up" in functions(bare, f"bin/{command}").stderr


def test_a_running_stack_asks_neither_a_swarm_nor_kubernetes(bare: Path) -> None:
    log = engine(bare)
    program(bare.parent / "bin" / "kubectl", f"echo kubectl >>'{log}'")
    assert functions(bare, "bin/stack status").returncode == 0
    assert not re.search("kubectl|^service", log.read_text(), re.M)
