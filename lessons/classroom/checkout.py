"""The checkout of one copy: what Git has, its settings, and what Compose must do differently in a class."""

import hashlib
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from lessons.classroom.class_state import ClassState, write_private
from lessons.classroom.plan import Copy, PlanError

REPO = Path(__file__).resolve().parents[2]
NAME = re.compile(r"^#?([A-Z_]+)=", re.M)
SERVICES = ("nginx", "varnish", "backend", "policyd", "locust")
# In a class, checks are rare, and a service that waits for another's health waits for a check. nginx and
# Locust can start without other services, so the copy is complete after two intervals instead of four.
NOT_WAITING = {"nginx": ("varnish", "policyd"), "locust": ("nginx",)}
# What judges a learner.
CHECKS = (
    *("lessons/checking", "lessons/*-*/check.py", "lessons/*-*/says.toml"),
    *("proscenium", "faults", "docs/caching-rules.md", "logs", "bin/lesson", "bin/lib"),
)


def make_checkout(opened: ClassState, copy: Copy) -> None:
    """Clone this checkout's last commit; add the copy's settings. Raise PlanError with Git's message."""
    folder = opened.folder_of(copy)
    done = git("clone", "--quiet", "--local", "--single-branch", "--no-tags", str(REPO), str(folder))
    if done.returncode:
        raise PlanError(done.stderr.strip())
    settings = "".join(f"{name}={value}\n" for name, value in opened.environment_of(copy).items())
    write_private(folder / ".env", f"# Written by make class. Explanations: .env.example\n{settings}")
    (folder / "compose.override.yaml").write_text(override(copy))
    if (REPO / ".venv").exists():  # what make learn needs; the room may have no internet
        (folder / ".venv").symlink_to(REPO / ".venv")
    opened.entries[copy.number] = replace(opened.entries[copy.number], checks=checks_sum(folder))


def git(*arguments: str) -> subprocess.CompletedProcess[str]:
    """A Git command in this checkout."""
    return subprocess.run(["git", *arguments], cwd=REPO, capture_output=True, text=True, check=False)


def override(copy: Copy) -> str:
    """Compose's additions for a copy: subnets, because Docker's own run out at ten copies, and limits."""
    lines = [f"# Copy {copy.number} of a class, written by make class (docs/teaching-class.md).", "services:"]
    for service in SERVICES:
        lines += [f"  {service}:", f"    cpus: {copy.plan.cpus}"]
        if others := NOT_WAITING.get(service):
            waits = ", ".join(f"{other}: {{ condition: service_started }}" for other in others)
            lines.append(f"    depends_on: {{ {waits} }}")
    lines.append("networks:")
    for name, subnet in copy.subnets.items():
        lines.append(f"  {name}: {{ ipam: {{ config: [{{ subnet: {subnet} }}] }} }}")
    return "\n".join(lines) + "\n"


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """The environment for a command in a copy: without the teacher's settings, which would take
    precedence."""
    settings = set(NAME.findall((REPO / ".env.example").read_text()))
    kept = {name: value for name, value in given.items() if name not in settings and name[:8] != "COMPOSE_"}
    return kept | {"MODE": "containers"}


def checks_sum(folder: Path) -> str:
    """A checksum of the files in a checkout that judge a learner."""
    sums = hashlib.sha256()
    for pattern in CHECKS:
        for top in sorted(folder.glob(pattern)):
            files = sorted(top.rglob("*")) if top.is_dir() else [top]
            for file in files:
                if file.is_file() and "__pycache__" not in file.parts:
                    sums.update(f"{file.relative_to(folder)}\0".encode() + file.read_bytes() + b"\0")
    return sums.hexdigest()


def put_aside(folder: Path) -> Path:
    """Move a folder out of the way, to NAME.before, replacing the previous one; return the new path."""
    before = folder.with_name(folder.name + ".before")
    shutil.rmtree(before, ignore_errors=True)
    folder.rename(before)
    return before
