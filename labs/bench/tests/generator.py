"""A stack whose load generator is replaced."""

import json
from typing import Any, cast

from labs.bench.lab_stack import LabStack, Problem, Usage


class Generator:
    """A stack whose generator answers each command with the next report, and keeps the commands.

    A report is a text to print, an object to print as JSON, or a problem to raise.
    """

    def __init__(self, *reports: str | dict[str, Any] | Problem) -> None:
        self.reports = list(reports)
        self.commands: list[tuple[str, ...]] = []
        self.services = ["backend", "locust"]
        self.restarted: list[str] = []

    def run(self, service: str, *command: str) -> str:
        self.commands.append(command)
        report = self.reports.pop(0)
        if isinstance(report, Problem):
            raise report
        return report if isinstance(report, str) else json.dumps(report)

    def restart(self, service: str) -> None:
        self.restarted.append(service)

    def usage(self, services: list[str]) -> dict[str, Usage]:
        return dict.fromkeys(services, Usage(0.0, 3_000_000, 10**9))

    @property
    def stack(self) -> LabStack:
        return cast(LabStack, self)

    def settings(self, number: int) -> Any:
        """Return the settings that a program of labs/bench/clients was given."""
        return json.loads(self.commands[number][-1])
