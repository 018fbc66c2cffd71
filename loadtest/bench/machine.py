"""The conditions of a run: the machine, the programs' versions, the configuration."""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path

from bench.experiment import Experiment
from bench.house import REPO, House

# How the services of the house tell their version; lab.toml does it for the lab's own.
VERSIONS = {
    "nginx": ["nginx", "-v"],
    "varnish": ["varnishd", "-V"],
    "backend": ["python", "-V"],
    "generator": ["ab", "-V"],
}

# What decides how fast the house is: files and folders of the checkout.
CONFIGURATION = {
    "nginx": ["nginx"],
    "varnish": ["varnish"],
    "backend": ["backend/src", "backend/requirements.lock"],
    "runner": ["loadtest/bench/runner.py", "loadtest/bench/house.py", "loadtest/bench/tools"],
}


def describe(house: House) -> dict[str, object]:
    """The engine's machine: where the servers run, which need not be this one."""
    info = house.engine.info()
    cpu = re.search(r"^model name\s*: (.*)", house.run("generator", "cat", "/proc/cpuinfo"), re.M)
    return {
        "cpu": cpu[1] if cpu else info["Architecture"],
        "cores": info["NCPU"],
        "memory_bytes": info["MemTotal"],
        "kernel": info["KernelVersion"],
        "engine": info["ServerVersion"],
    }


def versions(house: House, experiment: Experiment) -> dict[str, str]:
    """Service -> version of the program that does its work."""
    commands = {**VERSIONS, **experiment.versions}
    found = {}
    for service in experiment.services:
        if service in commands:
            # Half of them say it on standard error.
            printed = house.run(service, "sh", "-c", '"$@" 2>&1', "sh", *commands[service])
            version = re.search(r"\d+(\.\d+)+", printed)
            found[service] = version[0] if version else printed.strip()
    return found


def configuration(house: House, experiment: Experiment) -> dict[str, str]:
    """Name -> SHA-256 of what decides how fast the house is; `compose` has the user's knobs in it."""
    parts: Mapping[str, list[str]] = {**CONFIGURATION, "lab": [f"labs/{experiment.name}"]}
    return {
        "compose": hashlib.sha256(house.description.replace(str(REPO), "").encode()).hexdigest(),
        **{name: digest([REPO / path for path in paths]) for name, paths in parts.items()},
    }


def digest(paths: list[Path]) -> str:
    """SHA-256 over names and contents, but not of what Python leaves behind nor of pages for people."""
    total = hashlib.sha256()
    for path in paths:
        for file in [path] if path.is_file() else sorted(path.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts and file.suffix != ".md":
                content = hashlib.sha256(file.read_bytes()).hexdigest()
                total.update(f"{file.relative_to(REPO)} {content}\n".encode())
    return total.hexdigest()
