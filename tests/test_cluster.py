"""extras/cluster: the translation for Docker Swarm, and that Docker accepts the result. Needs no engine."""

import json
import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from extras.cluster.translate import LONGEST, Refused, translate
from stack import REPO
from support.checks import check

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
