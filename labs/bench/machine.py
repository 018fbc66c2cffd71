"""The conditions of a run: the machine, the versions of the programs, the configuration."""

import hashlib
import re
from pathlib import Path

from labs.bench.experiment import Experiment
from labs.bench.lab_stack import REPO, LabStack

# Commands that print the version of a service of the stack; lab.toml has those of a lab's own servers.
VERSIONS = {
    "nginx": ["nginx", "-v"],
    "varnish": ["varnishd", "-V"],
    "backend": ["python", "-V"],
    "generator": ["ab", "-V"],
}

# Files and folders of the checkout that affect the figures.
CONFIGURATION = {
    "nginx": ["nginx"],
    "varnish": ["varnish"],
    "backend": ["backend/src", "backend/requirements.lock"],
    "runner": ["labs/bench/runner.py", "labs/bench/lab_stack.py", "labs/bench/drivers", "labs/bench/clients"],
}

# The same of labs whose load comes from Locust.
LOCUST = [
    f"loadtest/{part}" for part in ("locustfile.py", "users", "comparison", "verdict", "requirements.lock")
]


def describe(stack: LabStack) -> dict[str, object]:
    """The engine's machine: the one the servers run on, which may be remote."""
    info = stack.engine.info()
    cpu = re.search(r"^model name\s*: (.*)", stack.run("generator", "cat", "/proc/cpuinfo"), re.M)
    return {
        "cpu": cpu[1] if cpu else info["Architecture"],
        "cores": info["NCPU"],
        "memory_bytes": info["MemTotal"],
        "kernel": info["KernelVersion"],
        "engine": info["ServerVersion"],
    }


def versions(stack: LabStack, experiment: Experiment) -> dict[str, str]:
    """Service -> version of its main program."""
    commands = {**VERSIONS, **experiment.versions}
    found = {}
    for service in experiment.services:
        if service in commands:
            # Half of the programs print it on standard error.
            printed = stack.run(service, "sh", "-c", '"$@" 2>&1', "sh", *commands[service])
            version = re.search(r"\d+(\.\d+)+", printed)
            found[service] = version[0] if version else printed.strip()
    return found


def configuration(stack: LabStack, experiment: Experiment) -> dict[str, str]:
    """Name -> SHA-256 of everything that affects the figures; `compose` includes the user's settings."""
    parts: dict[str, list[str]] = {**CONFIGURATION, "lab": [f"labs/{experiment.name}"]}
    if "locust" in experiment.services:
        parts["locust"] = LOCUST
    return {
        "compose": hashlib.sha256(stack.description.replace(str(REPO), "").encode()).hexdigest(),
        **{name: digest([REPO / path for path in paths]) for name, paths in parts.items()},
    }


def digest(paths: list[Path]) -> str:
    """SHA-256 of names and contents, without compiled Python and Markdown, which change no figure."""
    total = hashlib.sha256()
    for path in paths:
        for file in [path] if path.is_file() else sorted(path.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts and file.suffix != ".md":
                content = hashlib.sha256(file.read_bytes()).hexdigest()
                total.update(f"{file.relative_to(REPO)} {content}\n".encode())
    return total.hexdigest()
