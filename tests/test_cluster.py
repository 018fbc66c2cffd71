"""extras/cluster: the translation for Docker Swarm, and that Docker accepts the result; whose machines
labs/cluster/machines.sh changes. Needs no engine."""

import fcntl
import json
import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from extras.cluster.translate import LONGEST, Refused, translate
from tests.bare import program
from tests.stack import REPO
from tests.support.checks import check
from tests.support.wait import wait_until

# Words that `docker stack deploy` ignores, with a warning (docker/cli, cli/compose/types/types.go).
IGNORED = shlex.split("""
    build cgroupns_mode container_name devices expose external_links ipc links mac_address network_mode
    pid privileged restart security_opt shm_size userns_mode
""")
SERVICE = {"mem_limit": "5", "pids_limit": 7, "user": "101:101"}


def translated(folder: Path, **service: Any) -> dict[str, Any]:
    """A stack with one service, `s`."""
    project = {"name": "x", "services": {"s": SERVICE | service}, "networks": {}, "volumes": {}}
    return translate(project, folder)


def test_limits_move_and_what_swarm_does_not_know_is_dropped(tmp_path: Path) -> None:
    service = translated(
        tmp_path, depends_on={"a": {}}, restart="always", build={}, command=[], entrypoint=None
    )
    assert service["services"]["s"] == {
        "user": "101:101",
        "environment": {},
        "volumes": [],
        "deploy": {"resources": {"limits": {"memory": "5", "pids": 7}}},
    }


def test_a_tmpfs_keeps_its_size(tmp_path: Path) -> None:
    made = translated(tmp_path, tmpfs=["/tmp:mode=1777,size=16m", "/a:mode=1777"])
    assert made["services"]["s"]["volumes"] == [
        {"type": "tmpfs", "target": "/tmp", "tmpfs": {"size": 16 << 20}},
        {"type": "tmpfs", "target": "/a"},
    ]


def test_a_folder_becomes_configs_whose_names_change_with_the_file(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 20)
    for file in ("sub/a.conf", "tests/a.py", ".cache/b", "README.md", "empty"):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text("" if file == "empty" else "one")
    mount = {"type": "bind", "source": str(folder), "target": "/etc/it"}

    def name() -> str:
        made = translated(tmp_path, volumes=[mount])
        [config] = made["services"]["s"]["configs"]
        assert config["target"] == "/etc/it/sub/a.conf"
        return str(made["configs"][config["source"]]["name"])

    before = name()
    (folder / "sub/a.conf").write_text("two")
    assert name() != before
    assert len(before) == LONGEST


def test_two_files_of_one_name_are_two_configs(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "health.sh").write_text(folder)
    mounts = [
        {"type": "bind", "source": str(tmp_path / each / "health.sh"), "target": f"/{each}"} for each in "ab"
    ]
    made = translated(tmp_path, volumes=mounts)
    files = {
        each["target"]: made["configs"][each["source"]]["file"] for each in made["services"]["s"]["configs"]
    }
    assert files == {mount["target"]: mount["source"] for mount in mounts}


def test_passwords_and_the_certificate_become_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tls = tmp_path / "tls" / "live"
    tls.mkdir(parents=True)
    (tls / "key.pem").write_text("KEY")
    (tls / "chain.pem").write_text("CHAIN")
    names = {"TLS_CERTIFICATE": "live/chain.pem", "TLS_CERTIFICATE_KEY": "live/key.pem"}
    made = translated(
        Path("secrets"),
        environment=names | {"UPSTAGE_ADMIN_PASSWORD": "pa$$ss", "LOADTEST_PASSWORD": ""},
        volumes=[{"type": "bind", "source": str(tmp_path / "tls"), "target": "/etc/nginx/certificates"}],
    )
    service = made["services"]["s"]
    assert service["environment"] == names | {"LOADTEST_PASSWORD": ""}
    assert {secret["target"] for secret in service["secrets"]} == {
        "UPSTAGE_ADMIN_PASSWORD",
        "/etc/nginx/certificates/live/chain.pem",
        "/etc/nginx/certificates/live/key.pem",
    }
    assert {(secret["uid"], secret["mode"]) for secret in service["secrets"]} == {("101", 0o400)}
    file = Path(made["secrets"]["UPSTAGE_ADMIN_PASSWORD"]["file"])
    assert file.is_absolute()  # a relative one starts at the folder of the stack's file
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("pa$ss", 0o600)


def test_what_a_swarm_cannot_do_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="port 80 on all addresses"):
        translated(tmp_path, ports=[{"target": 80, "published": "80", "host_ip": "127.0.0.1"}])
    (tmp_path / "large").write_bytes(bytes(1_000_001))
    with pytest.raises(Refused, match="no file above 1000000 bytes"):
        translated(tmp_path, volumes=[{"type": "bind", "source": str(tmp_path / "large"), "target": "/x"}])


@pytest.mark.parametrize("extra", ["", "extras/workers/compose.yaml"])
def test_docker_accepts_the_stack(tmp_path: Path, extra: str) -> None:
    if os.environ.get("ENGINE") == "no":
        pytest.skip("no container engine can run here")
    if subprocess.run(["docker", "stack", "config", "--help"], capture_output=True).returncode:
        pytest.skip("this docker command is older than 25: it has no `stack config`")
    files = [f"--file={file}" for file in ("compose.yaml", "extras/cluster/compose.yaml", extra) if file]
    config = ["docker", "compose", "--env-file=/dev/null", *files, "config", "--format=json"]
    project = json.loads(subprocess.run(config, cwd=REPO, capture_output=True, check=True).stdout)
    (tmp_path / "stack.json").write_text(json.dumps(translate(project, tmp_path)))
    check("docker", "stack", "config", "-c", tmp_path / "stack.json")
    made = json.loads((tmp_path / "stack.json").read_text())
    assert made["services"]["nginx"]["environment"]["BIND_ADDR"] == "0.0.0.0"  # no comparison names
    kept = {"read_only", "cap_drop", "init", "healthcheck", "user", "logging"}
    for name, service in made["services"].items():
        assert kept <= service.keys(), name
        assert not service.keys() & IGNORED, name


def test_a_name_that_is_gone_is_looked_up_more_often(tmp_path: Path) -> None:
    """Its new address is then known within a tenth of a second. (Each pause is shorter here.)"""
    (tmp_path / "addresses").write_text("10.0.0.1 STREAM\n")
    program(tmp_path / "getent", f"cat {tmp_path}/addresses")
    program(tmp_path / "sleep", f'echo "$1" >>{tmp_path}/pauses; exec {shutil.which("sleep")} 0.01')
    program(tmp_path / "start.sh", f'echo "$#" "$@" >{tmp_path}/options; exec tail -f /dev/null')
    program(tmp_path / "reload.sh", f"echo x >>{tmp_path}/reloads")
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    script = str(REPO / "extras" / "cluster" / "follow.sh")
    command = ["sh", script, "backend", str(tmp_path), "-p", "x=%D -O0"]

    def pauses(seconds: str) -> None:
        """Wait until the last five were that long."""
        wait_until(lambda: (tmp_path / "pauses").read_text().split()[-5:] == [seconds] * 5, within=30)

    following = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        pauses("1")
        wait_until(lambda: (tmp_path / "options").read_text() == "2 -p x=%D -O0\n", within=30)
        (tmp_path / "addresses").write_text("")
        pauses("0.1")
        assert not (tmp_path / "reloads").exists()
        (tmp_path / "addresses").write_text("10.0.0.2 STREAM\n")
        wait_until((tmp_path / "reloads").exists, within=30)
        pauses("1")
    finally:
        os.killpg(following.pid, 15)
        following.wait()


Machines = Callable[..., "subprocess.Popen[str]"]
PREFIX = f"t{os.getpid()}"
RUN = Path(f"/run/proscenium-{PREFIX}")


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Machines]:
    """machines.sh with a prefix of its own, and without the programs that would change this machine."""
    if os.getuid():
        pytest.skip("only root has machines")
    there = "\n".join(
        (f"{PREFIX}-switch", f"{PREFIX}-1 (id: 0)", f"{PREFIX}0-1", "machines-1", f"x-{PREFIX}-1")
    )
    program(
        tmp_path / "ip", f"[ \"$1 $2\" != 'netns list' ] || echo '{there}'; echo \"$*\" >>{tmp_path}/ip.log"
    )
    program(tmp_path / "nsenter", "ls -l /proc/self/fd")
    program(tmp_path / "docker", "")
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "MACHINES_PREFIX": PREFIX}

    def script(*arguments: str, before: tuple[str, ...] = (), **options: Any) -> "subprocess.Popen[str]":
        command = [*before, str(REPO / "labs" / "cluster" / "machines.sh"), *arguments]
        none, pipe = subprocess.DEVNULL, subprocess.PIPE
        return subprocess.Popen(command, env=environment, stdout=none, stderr=pipe, text=True, **options)

    (RUN / "1").mkdir(parents=True)
    yield script
    shutil.rmtree(RUN, ignore_errors=True)
    shutil.rmtree(f"/var/lib/{RUN.name}", ignore_errors=True)
    Path(f"{RUN}.lock").unlink(missing_ok=True)


def test_the_machines_of_others_are_left_alone(machines: Machines, tmp_path: Path) -> None:
    other = tmp_path / "checkout"
    other.mkdir()
    (RUN / "owner").write_text(f"1 {other}\n")
    for command in ("up 3", "down", "kill 1", "start 1", "cut 1", "plug 1"):
        assert (
            f"belong to the checkout {other}. MACHINES_PREFIX=other"
            in machines(*command.split()).communicate()[1]
        )
    (RUN / "owner").write_text(f"{os.getpid()} {REPO}\n")
    for command in ("up 3", "down"):  # by another process than this one
        said = machines(*command.split(), before=("sh", "-c", '"$0" "$@"; :')).communicate()[1]
        assert f"Process {os.getpid()} is using these machines" in said
    assert not (tmp_path / "ip.log").exists()

    ended = machines("down")
    assert (ended.communicate()[1], ended.returncode) == ("", 0)
    deleted = [line for line in (tmp_path / "ip.log").read_text().splitlines() if "delete" in line]
    assert deleted == [f"netns delete {PREFIX}-switch", f"netns delete {PREFIX}-1"]
    assert not RUN.exists()


def test_one_command_at_a_time_changes_the_machines(machines: Machines) -> None:
    with open(f"{RUN}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        down = machines("down")
        time.sleep(1)
        assert (down.poll(), RUN.exists()) == (None, True)
    assert down.wait(timeout=30) == 0
    assert not RUN.exists()


def test_an_engine_keeps_no_file_of_its_caller(machines: Machines, tmp_path: Path) -> None:
    with (tmp_path / "inherited").open("w") as inherited:
        started = machines("start", "1", pass_fds=(inherited.fileno(),))
        assert (started.communicate()[1], started.returncode) == ("", 0)
    wait_until(lambda: "/dev/null" in (RUN / "1.log").read_text())
    files = (RUN / "1.log").read_text()
    assert "inherited" not in files
    assert ".lock" not in files
