"""Which Varnish is tested, and a running one for the tests that need more than a VTC."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # importlib mode does not do it
from playhouse import PATH, Playhouse, playhouse


def pytest_report_header() -> str:
    program = shutil.which("varnishd", path=PATH)
    if program is None:
        return "varnishd: none"
    done = subprocess.run([program, "-V"], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return f"varnishd: {done.stdout.splitlines()[0]}, {program}"


@pytest.fixture(scope="module")
def house() -> Iterator[Playhouse]:
    with playhouse() as opened:
        yield opened
