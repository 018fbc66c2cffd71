"""compose-lint, a linter of Compose files by the rules of OWASP and CIS, on the stack with all extras."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.outside.allowed import compare
from tests.outside.installed import python_tools
from tests.outside.report import record
from tests.stack import REPO
from tests.support.compose import EXTRAS, merged, theatre_files

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.environ.get("ENGINE") == "no", reason="Compose comes with the engine"),
]


def test_compose_files(tmp_path: Path) -> None:
    names = {"COMPOSE_PROJECT_NAME": "x", "BACKEND_IMAGE": "", "POLICYD_IMAGE": ""}
    stack = merged({**os.environ, **names}, "compose.yaml", *EXTRAS, *theatre_files())
    file = tmp_path / "compose.yaml"
    # JSON is YAML. The linter would report every file of a repository below /root.
    file.write_text(json.dumps(stack).replace(str(REPO), "/srv/proscenium"))
    command: list[str | Path] = [python_tools() / "compose-lint", "check", "--format", "json", file]
    printed = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=False).stdout)
    assert printed["errors"] == printed["warnings"] == []

    findings = {
        f"{each['rule_id']} {each['service']}: {each['message'].split('. ')[0]}": each["severity"]
        for each in printed["findings"]
    }
    compare("compose-lint", findings)
    record("compose-lint", "-", len(findings))
