"""The translation of a Compose configuration for Docker Swarm."""

import copy
import json
import os
from typing import Any

import pytest
from translate import UntranslatableError, stack

from support.checks import check

SETTINGS = {
    "COMPOSE_PROJECT_NAME": "theatre",
    **dict.fromkeys(("CLUSTER_FILES", "CLUSTER_RUN", "CLUSTER_DISTRIBUTE", "CLUSTER_CERTIFICATE"), "1a2b"),
    **dict.fromkeys(("CLUSTER_FOLDER", "CLUSTER_CERTIFICATE_FILE", "CLUSTER_KEY_FILE"), "/tmp/cluster"),
}
FILES = ("compose.yaml", "extras/workers/compose.yaml")
WRITE_THEATRES = ". bin/lib/common.sh && . bin/lib/cluster_files.sh && cluster=$0 && write_theatres"
EXAMPLE: dict[str, Any] = {
    "name": "theatre",
    "services": {
        "web": {
            "image": "web:1",
            "command": None,
            "networks": {"back": None},
            "mem_limit": "1048576",
            "pids_limit": 64,
            "cpus": 0.5,
            "restart": "unless-stopped",
            "depends_on": {"other": {"condition": "service_healthy"}},
            "security_opt": ["no-new-privileges:true"],
            "tmpfs": ["/tmp:mode=1777,size=448m", "/small:mode=1777"],
            "volumes": [{"type": "volume", "source": "data", "target": "/data", "read_only": True}],
            "ports": [
                {
                    "mode": "ingress",
                    "host_ip": "127.0.0.1",
                    "target": 80,
                    "published": "8080",
                    "protocol": "tcp",
                }
            ],
            "secrets": [{"source": "key", "target": "/key", "uid": "101", "mode": "0400"}],
        }
    },
    "networks": {"back": {"name": "theatre_back", "internal": True, "ipam": {}}},
    "volumes": {"data": {"name": "theatre_data"}, "work": {"name": "work-{{.Task.Slot}}"}},
    "secrets": {"key": {"name": "theatre_key-1", "file": "/key.pem"}},
}


@pytest.fixture(scope="module")
def translated(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The whole stack, with two theatres."""
    if os.environ.get("ENGINE") == "no":
        pytest.skip("Compose comes with the engine, and none can run here")
    folder = tmp_path_factory.mktemp("cluster")
    output = folder / "compose.json"
    environment = {**os.environ, **SETTINGS, "THEATRES": "second third"}
    check("bash", "-c", WRITE_THEATRES, folder, env=environment)
    theatres = (folder / "theatres.yaml", "extras/cluster/swarm.yaml", folder / "theatres-swarm.yaml")
    check(
        *("docker", "compose", "--env-file=/dev/null", "--project-directory=."),
        *(f"--file={file}" for file in (*FILES, *theatres)),
        *("config", "--format", "json", "--output", output),
        env=environment,
    )
    return stack(json.loads(output.read_text()))


def test_each_word_in_swarm_s_form() -> None:
    web = stack(EXAMPLE)["services"]["web"]
    assert web == {
        "image": "web:1",
        "networks": {"back": None},
        "deploy": {"resources": {"limits": {"memory": "1048576", "pids": 64, "cpus": "0.5"}}},
        "volumes": [
            {"type": "tmpfs", "target": "/small", "tmpfs": {"size": 64 << 20}},
            {"type": "tmpfs", "target": "/tmp", "tmpfs": {"size": 448 << 20}},
            {"type": "volume", "source": "data", "target": "/data", "read_only": True},
        ],
        "ports": [{"mode": "host", "target": 80, "published": 8080, "protocol": "tcp"}],
        "configs": [],
        "secrets": [{"source": "key", "target": "/key", "uid": "101", "mode": 0o400}],
    }


def test_only_names_that_are_not_the_default_are_stated() -> None:
    translated = stack(EXAMPLE)
    assert translated["networks"] == {"back": {"internal": True}}
    assert translated["volumes"] == {"data": {}, "work": {"name": "work-{{.Task.Slot}}"}}
    assert translated["secrets"] == {"key": {"name": "theatre_key-1", "file": "/key.pem"}}


@pytest.mark.parametrize(
    ("word", "value", "reason"),
    [
        ("privileged", True, "web: Swarm has no privileged"),
        ("container_name", "web", "web: Swarm has no container_name"),
        ("network_mode", "host", "web: Swarm has no network_mode"),
        (
            "volumes",
            [{"type": "bind", "source": "/srv/x", "target": "/x"}],
            "web: /srv/x is on this machine, and not on every node",
        ),
        ("tmpfs", ["/tmp:uid=101"], "web: Swarm has no tmpfs with uid=101"),
    ],
)
def test_what_swarm_cannot_do_is_an_error(word: str, value: object, reason: str) -> None:
    example = copy.deepcopy(EXAMPLE)
    example["services"]["web"][word] = value
    with pytest.raises(UntranslatableError) as error:
        stack(example)
    assert str(error.value) == reason


def test_the_stack_keeps_its_hardening(translated: dict[str, Any]) -> None:
    for name, service in translated["services"].items():
        limits = service["deploy"]["resources"]["limits"]
        assert service["read_only"], name
        assert service["cap_drop"] == ["ALL"], name
        assert service["init"], name
        assert 0 < limits["pids"] <= 512, name
        assert 0 < int(limits["memory"]) <= 1 << 30, name
        assert service["healthcheck"]["test"], name
        assert service["logging"]["options"].keys() == {"max-size", "max-file"}, name
        assert service["deploy"]["endpoint_mode"] == "dnsrr", name
        assert service["deploy"]["update_config"]["order"] == "stop-first", name
    assert translated["networks"]["back"]["internal"]


def test_only_nginx_has_ports_and_no_password_is_written_down(translated: dict[str, Any]) -> None:
    ports = {name: [port["target"] for port in one["ports"]] for name, one in translated["services"].items()}
    assert {name: numbers for name, numbers in ports.items() if numbers} == {
        "nginx": [8080, 8443, 7230, 3000, 8089, 7231, 7232]
    }
    for one in translated["services"].values():
        for setting, value in one.get("environment", {}).items():
            assert "PASSWORD" not in setting or not value


def test_a_theatre_has_data_and_a_node_of_its_own(translated: dict[str, Any]) -> None:
    backend, second = (translated["services"][name] for name in ("backend", "second"))
    assert backend["deploy"]["placement"] == {"constraints": ["node.labels.proscenium.backend == yes"]}
    assert second["deploy"]["placement"] == {"constraints": ["node.labels.proscenium.second == yes"]}
    mounts = {mount["target"]: mount.get("source") for mount in second["volumes"]}
    assert (mounts["/var/lib/upstage"], mounts["/srv/media"]) == ("second-data", "second-media")
    differ = {name for name in second if second[name] != backend[name]}
    assert differ == {"deploy", "volumes", "environment", "secrets"}
    secrets = {
        secret["target"].removeprefix("/run/secrets/"): secret["source"] for secret in second["secrets"]
    }
    assert secrets == {
        "UPSTAGE_ADMIN_PASSWORD": "second-admin",
        "LOADTEST_PASSWORD": "LOADTEST_PASSWORD",
    }
    assert backend["environment"].items() - second["environment"].items() == {
        ("UPSTAGE_THEATRES", "second third")
    }
    for name in ("nginx", "varnish"):
        assert translated["services"][name]["environment"]["THEATRES"] == "second third"
