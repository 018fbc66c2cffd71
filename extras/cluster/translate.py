"""Translates `docker compose config --format json` into what `docker stack deploy` accepts.

Swarm reads an older dialect of Compose files: keys with another name there are renamed, unknown keys are
dropped. Files travel as Swarm configs, so that no node needs a checkout; passwords and the certificate travel
as Swarm secrets. Neither can be changed, so each name ends in a checksum of the content: a changed file is
another config, and the services that read it restart.

https://docs.docker.com/reference/compose-file/legacy-versions/
"""

import hashlib
import json
import os
import re
import sys
from pathlib import Path, PurePosixPath
from typing import Any

Json = dict[str, Any]

# Keys without a use in a Swarm. It starts all services at once, and starts failed ones again. It has no
# weights for CPU time. no-new-privileges is a setting of each engine (daemon.json).
DROPPED = ("build", "cpu_shares", "depends_on", "mem_limit", "pids_limit", "restart", "security_opt", "tmpfs")
UNITS = {"k": 2**10, "m": 2**20, "g": 2**30}
LEFT_OUT = {"tests", "__pycache__", "README.md", "requirements.in", "requirements.lock"}
LARGEST = 1_000_000  # bytes of a config
LONGEST = 64  # characters of a name
CERTIFICATES = "/etc/nginx/certificates"


class Refused(Exception):
    """The project asks for something that a Swarm cannot do."""


class Stack:
    """The stack: services are added one by one, and with them the files that they read."""

    def __init__(self, name: str, folder: Path) -> None:
        """Secrets that are not files yet, such as passwords, are written into `folder`."""
        self.name = name
        self.folder = folder
        self.services: Json = {}
        self.configs: Json = {}
        self.secrets: Json = {}

    def add(self, name: str, service: Json) -> None:
        """Translate one service. Raise Refused."""
        made = {
            word: value for word, value in service.items() if word not in DROPPED and value not in (None, [])
        }
        made["volumes"] = [_tmpfs(line) for line in service.get("tmpfs", [])]
        limits = {"memory": service["mem_limit"], "pids": service["pids_limit"]}
        made.setdefault("deploy", {})["resources"] = {"limits": limits}
        made["environment"] = self._environment(made)
        for mount in service.get("volumes", []):
            if mount["type"] != "bind":
                made["volumes"].append(mount)
            elif mount["target"] == CERTIFICATES:
                self._certificate(made, Path(mount["source"]))
            else:
                self._files(made, Path(mount["source"]), mount["target"])
        for port in made.get("ports", []):
            if port.pop("host_ip", None):
                raise Refused(
                    f"{name}: Swarm publishes port {port['target']} on all addresses: give it mode: host"
                )
            port["published"] = int(port["published"])
        self.services[name] = made

    def _environment(self, service: Json) -> Json:
        """Make secrets of the passwords; return the other variables."""
        left = {}
        for name, value in service.get("environment", {}).items():
            if name.endswith("_PASSWORD") and value:
                self.folder.mkdir(parents=True, exist_ok=True)
                file = self.folder / name
                file.touch(mode=0o600)
                file.write_text(value.replace("$$", "$"))  # undo the doubling by Compose
                self._secret(service, name, file, name)
            else:
                left[name] = value
        return left

    def _certificate(self, service: Json, folder: Path) -> None:
        """Make a secret of each half of the user's own certificate, at the path where nginx looks for it."""
        for name in ("TLS_CERTIFICATE", "TLS_CERTIFICATE_KEY"):
            if file := service["environment"].get(name):
                self._secret(service, name, folder / file, f"{CERTIFICATES}/{file}")

    def _secret(self, service: Json, name: str, file: Path, target: str) -> None:
        self.secrets[name] = self._versioned(name, file)
        entry = {"source": name, "target": target, "uid": service["user"].partition(":")[0], "mode": 0o400}
        service.setdefault("secrets", []).append(entry)

    def _files(self, service: Json, source: Path, target: str) -> None:
        """Make a config of each file that a container reads in a mounted folder, or of the mounted file."""
        for file in _files_below(source):
            inside = file.relative_to(source)  # "." if the source is the file
            name = re.sub("[^0-9A-Za-z_.-]", "_", os.path.relpath(file))
            if file.stat().st_size > LARGEST:
                raise Refused(f"{file}: Swarm takes no file above {LARGEST} bytes")
            self.configs[name] = self._versioned(name, file)
            entry = {"source": name, "target": str(PurePosixPath(target) / inside)}
            service.setdefault("configs", []).append(entry)

    def _versioned(self, name: str, file: Path) -> Json:
        checksum = hashlib.sha256(file.read_bytes()).hexdigest()[:8]
        return {"file": str(file.absolute()), "name": f"{self.name}-{name}"[: LONGEST - 9] + f"-{checksum}"}


def _files_below(path: Path) -> list[Path]:
    """Return the files that a container reads there, except empty ones: Swarm rejects an empty config."""
    if path.is_file():
        return [path]

    def is_read(file: Path) -> bool:
        parts = file.relative_to(path).parts
        hidden = any(part.startswith(".") for part in parts)
        return file.is_file() and file.stat().st_size > 0 and not hidden and not LEFT_OUT & set(parts)

    return sorted(filter(is_read, path.rglob("*")))


def _tmpfs(line: str) -> Json:
    """Return the mount that `/tmp:mode=1777,size=16m` means. In a Swarm the mode is always 1777."""
    target, _, options = line.partition(":")
    size = dict(option.split("=") for option in options.split(",")).get("size")
    mount: Json = {"type": "tmpfs", "target": target}
    return mount | {"tmpfs": {"size": int(size[:-1]) * UNITS[size[-1]]}} if size else mount


def translate(project: Json, folder: Path) -> Json:
    """Return the stack. Raise Refused."""
    stack = Stack(project["name"], folder)
    for name, service in project["services"].items():
        stack.add(name, service)
    for kind in ("networks", "volumes"):  # drop the prefix: Swarm adds the stack's name itself
        for name, one in project[kind].items():
            one.pop("ipam", None)
            if one.get("name") == f"{stack.name}_{name}":
                del one["name"]
    return {
        "version": "3.9",
        "services": stack.services,
        "configs": stack.configs,
        "secrets": stack.secrets,
        "networks": project["networks"],
        "volumes": project["volumes"],
    }


if __name__ == "__main__":
    try:
        json.dump(translate(json.load(sys.stdin), Path(sys.argv[1])), sys.stdout, indent=1)
    except Refused as refusal:
        sys.exit(str(refusal))
