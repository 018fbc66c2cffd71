"""Translates a Compose configuration into one that Docker Swarm accepts.

    docker compose config --format json | translate.py | docker stack deploy --compose-file - NAME

Swarm reads an older form of Compose files (https://docs.docker.com/reference/compose-file/legacy-versions/).
What has another name there is renamed, and what means nothing on several machines is left out. Anything else
that Swarm does not know, some of which it would ignore without a word, is an error here.
"""

import json
import sys
from collections.abc import Mapping
from typing import Any

Part = dict[str, Any]

# The same in both.
KEPT = frozenset(
    {
        *("cap_drop", "command", "configs", "deploy", "entrypoint", "environment", "healthcheck", "hostname"),
        *("image", "init", "logging", "networks", "read_only", "secrets", "stop_grace_period", "stop_signal"),
        *("sysctls", "ulimits", "user", "working_dir"),
    }
)
# Swarm starts all services at once and again whenever they end; it builds no images; CPU shares do not exist;
# and no-new-privileges is a setting of each engine (README.md).
LEFT_OUT = frozenset({"build", "cpu_shares", "depends_on", "profiles", "restart", "security_opt"})
LIMITS = {"cpus": "cpus", "mem_limit": "memory", "pids_limit": "pids"}  # names of deploy.resources.limits
UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
TMPFS_SIZE = 64 << 20  # bytes, unless the service states a size


class UntranslatableError(ValueError):
    """A service uses something that Swarm does not have."""


def stack(configuration: Mapping[str, Any]) -> Part:
    """Translate a whole configuration, in which Swarm puts the stack's name before each name.

    Raise UntranslatableError.
    """
    translated: Part = {
        "version": "3.13",
        "services": {name: service(name, part) for name, part in configuration["services"].items()},
    }
    for kind in ("networks", "volumes", "configs", "secrets"):
        translated[kind] = {
            name: {
                key: value
                for key, value in part.items()
                if value and (key, value) != ("name", f"{configuration['name']}_{name}")
            }
            for name, part in configuration.get(kind, {}).items()
        }
    return translated


def service(name: str, part: Part) -> Part:
    """Translate one service."""
    if unknown := part.keys() - KEPT - LEFT_OUT - LIMITS.keys() - {"ports", "tmpfs", "volumes"}:
        raise UntranslatableError(f"{name}: Swarm has no {', '.join(sorted(unknown))}")
    translated = {key: part[key] for key in KEPT if part.get(key) is not None}
    deploy = translated.setdefault("deploy", {})
    limits = deploy.setdefault("resources", {}).setdefault("limits", {})
    for key, limit in LIMITS.items():
        if key in part:
            limits[limit] = part[key] if limit == "pids" else str(part[key])
    mounts = [
        *(volume(name, mount) for mount in part.get("volumes", [])),
        *(tmpfs(name, line) for line in part.get("tmpfs", [])),
    ]
    # In the order of `docker service update`. In another one the next deployment would look like a change.
    translated["volumes"] = sorted(mounts, key=lambda mount: (mount.get("source", ""), mount["target"]))
    translated["ports"] = [port(published) for published in part.get("ports", [])]
    for kind in ("configs", "secrets"):
        translated[kind] = [readable(file) for file in part.get(kind, [])]
    return translated


def volume(name: str, mount: Part) -> Part:
    """A volume stays as it is. Files of this machine are not on the other nodes."""
    if mount["type"] != "volume":
        raise UntranslatableError(f"{name}: {mount['source']} is on this machine, and not on every node")
    return mount


def tmpfs(name: str, line: str) -> Part:
    """A mount for `TARGET:OPTIONS`, a form that Swarm ignores. Its mode is always 1777, and it is noexec."""
    target, _, options = line.partition(":")
    size = TMPFS_SIZE
    for option in filter(None, options.split(",")):
        key, _, value = option.partition("=")
        if key == "size":
            number = value.rstrip("kmg")
            size = int(number) * UNITS[value.removeprefix(number)]
        elif option != "mode=1777":
            raise UntranslatableError(f"{name}: Swarm has no tmpfs with {option}")
    return {"type": "tmpfs", "target": target, "tmpfs": {"size": size}}


def port(published: Part) -> Part:
    """A port of the node itself, on all of its addresses.

    Swarm can choose no address, and behind its ingress network nginx would not see its clients' addresses.
    """
    return {
        "mode": "host",
        "target": published["target"],
        "published": int(published["published"]),
        "protocol": published["protocol"],
    }


def readable(file: Part) -> Part:
    """A config or secret; Compose writes its mode as a text of octal digits."""
    return file | ({"mode": int(file["mode"], 8)} if "mode" in file else {})


if __name__ == "__main__":
    try:
        json.dump(stack(json.load(sys.stdin)), sys.stdout, indent=1)
    except UntranslatableError as error:
        sys.exit(str(error))
