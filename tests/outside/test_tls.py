"""SSLyze: TLS of nginx against Mozilla's recommendation `intermediate`, and known vulnerabilities."""

import re
import subprocess

import pytest

from tests.outside.allowed import compare
from tests.outside.installed import python_tools
from tests.outside.report import record
from tests.stack import Stack

pytestmark = pytest.mark.slow


def test_the_port_of_https(fronting: Stack) -> None:
    target = ("--sni=localhost", f"127.0.0.1:{fronting.ports['HTTPS_PORT']}")
    command = (python_tools() / "sslyze", "--mozilla_config=intermediate", *target)
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    _, _, judged = done.stdout.partition("Checking results against Mozilla's")
    assert re.search(r": (FAILED|OK) - ", judged), done.stdout + done.stderr

    findings = {}
    for check, words in re.findall(r"^ +\* (\w+): (.*)$", judged, re.M):
        # "TLS curves {'a', 'b'} are supported, but should be rejected" is a finding for each.
        for value in re.findall(r"'([^']+)'", words) or [words]:
            findings[f"{check}: {value}"] = words
    compare("sslyze", findings)
    record("sslyze", "-", len(findings))
