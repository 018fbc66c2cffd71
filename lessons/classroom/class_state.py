"""The class that this checkout has opened: what all copies share, and the passwords of each.

It is stored in .run/class/class.json, so that later commands need no settings.
"""

import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from lessons.classroom.plan import Copy, Plan, PlanError, parse_cpus, parse_ports, parse_subnets

LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"  # no two look alike on paper
LOCUST_USER = "locust"
# Settings that the copies take over from the teacher's.
PASSED_ON = (
    *("BIND_ADDR", "SERVER_NAMES", "COMPARISON_NAMES", "VARNISH_STORAGE", "VARNISH_MEMORY"),
    *("NGINX_IMAGE", "VARNISH_IMAGE", "PYTHON_IMAGE", "LOCUST_IMAGE", "PROMETHEUS_IMAGE"),
)
SETTINGS = ("CLASS_PORTS", "CLASS_SUBNETS", "CLASS_CPUS")


def new_password() -> str:
    """Ten characters that can be read off paper: 50 bits."""
    return "".join(secrets.choice(LETTERS) for _ in range(10))


@dataclass(frozen=True)
class Entry:
    """What is stored about one copy."""

    admin: str = field(default_factory=new_password)  # the password for the stack's own pages
    locust: str = field(default_factory=new_password)  # the password for Locust's page
    checks: str = ""  # a checksum of what judges the learner, as it was handed out


@dataclass
class ClassState:
    """The class in a folder."""

    folder: Path
    plan: Plan
    settings: dict[str, str]  # of every copy
    entries: dict[int, Entry] = field(default_factory=dict)  # by the copy's number

    @classmethod
    def new(cls, folder: Path, project: str, environment: Mapping[str, str]) -> "ClassState":
        """A class without copies, with the teacher's settings. Raise PlanError if one of these is wrong."""
        plan = Plan(
            project,
            parse_ports(environment.get("CLASS_PORTS") or str(Plan.ports)),
            parse_subnets(environment.get("CLASS_SUBNETS") or str(Plan.subnets)),
            parse_cpus(environment.get("CLASS_CPUS") or str(Plan.cpus)),
        )
        settings = {
            "UPSTAGE_FESTIVAL": "off",  # 21 MB of media in each copy
            "COMPARISON_NAMES": "on",  # lessons compare them, whatever BIND_ADDR is
        }
        settings |= {name: environment[name] for name in PASSED_ON if environment.get(name)}
        return cls(folder, plan, settings)

    @classmethod
    def load(cls, folder: Path, environment: Mapping[str, str]) -> "ClassState | None":
        """The class in a folder, or None. Raise PlanError if a setting differs now."""
        file = folder / "class.json"
        if not file.exists():
            return None
        kept = json.loads(file.read_text())
        for name in SETTINGS:
            if (wanted := environment.get(name)) and wanted != kept[name]:
                raise PlanError(
                    f"This class was opened with {name}={kept[name]}. Close it first: make class-down"
                )
        entries = {int(number): Entry(**entry) for number, entry in kept["copies"].items()}
        return replace(cls.new(folder, kept["project"], kept), settings=kept["settings"], entries=entries)

    def save(self) -> None:
        """Write the state, readable for this user only."""
        kept = {
            "project": self.plan.project,
            "CLASS_PORTS": str(self.plan.ports),
            "CLASS_SUBNETS": str(self.plan.subnets),
            "CLASS_CPUS": str(self.plan.cpus),
            "settings": self.settings,
            "copies": {number: vars(entry) for number, entry in sorted(self.entries.items())},
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        write_private(self.folder / "class.json", json.dumps(kept, indent=1) + "\n")

    @property
    def copies(self) -> list[Copy]:
        """All that are open."""
        return [self.plan.copy(number) for number in sorted(self.entries)]

    def folder_of(self, copy: Copy) -> Path:
        """Its checkout."""
        return self.folder / copy.name

    def environment_of(self, copy: Copy) -> dict[str, str]:
        """The settings in its .env."""
        entry = self.entries[copy.number]
        return {
            "COMPOSE_PROJECT_NAME": copy.project,
            **copy.port_settings,
            "UPSTAGE_ADMIN_PASSWORD": entry.admin,
            "LOCUST_WEB_USERNAME": LOCUST_USER,
            "LOCUST_WEB_PASSWORD": entry.locust,
            **self.settings,
        }


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, atomically."""
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    new.replace(path)
