"""h2spec: HTTP/2 of nginx, by RFC 9113 and RFC 7541, on the port of HTTPS."""

import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.outside.allowed import compare
from tests.outside.installed import h2spec
from tests.outside.report import record
from tests.stack import Stack

pytestmark = pytest.mark.slow


def test_frames_and_headers(fronting: Stack, tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    target = ("--tls", "--insecure", "--host=127.0.0.1", f"--port={fronting.ports['HTTPS_PORT']}")
    command = (h2spec(), "--strict", *target, "--path=/stages/demo", f"--junit-report={report}")
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=400)
    assert report.exists(), done.stdout

    cases = ElementTree.parse(report).findall("testsuite/testcase")
    assert len(cases) > 140, done.stdout
    findings = {}
    for case in cases:
        if (failure := case.find("failure")) is not None or (failure := case.find("error")) is not None:
            # The last line of a failure says what nginx did; the lines before it say what was expected.
            did = (failure.text or "no response").strip().splitlines()[-1]
            findings[f"{case.get('package')}: {case.get('classname')}"] = f"nginx: {did}"
    compare("h2spec", findings)
    record("h2spec", len(cases) - len(findings), len(findings))
