"""pip-audit: no package of a lock file has a published advisory."""

import json
import subprocess

import pytest

from tests.outside.allowed import compare
from tests.outside.installed import python_tools
from tests.outside.report import record
from tests.stack import REPO
from tests.support.checks import tracked

pytestmark = pytest.mark.slow


def test_locked_packages() -> None:
    findings, clean = {}, set()
    for lock in tracked("*.lock"):
        options = ("--disable-pip", "--require-hashes", "--format=json", "--desc", "--progress-spinner=off")
        command = (python_tools() / "pip-audit", *options, "-r", REPO / lock)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if "ConnectionError" in done.stderr:
            pytest.skip("the advisories of PyPI cannot be reached")
        assert done.stdout, done.stderr
        packages = json.loads(done.stdout)["dependencies"]
        if all("not found on PyPI" in each.get("skip_reason", "") for each in packages):
            pytest.skip("what answers for PyPI here has packages, but no advisories")
        for each in packages:
            package = f"{each['name']} {each.get('version', '')}"
            if "skip_reason" in each:
                findings[f"{package}: not audited"] = each["skip_reason"]
            elif not each["vulns"]:
                clean.add(package)
            for advisory in each.get("vulns", []):
                findings[f"{package}: {advisory['id']}"] = advisory["description"]
    compare("pip-audit", findings)
    record("pip-audit", len(clean), len(findings))
