"""Locust, headless, from where it stands in the stack."""

import os
import re
import subprocess

from house import REPO, House

HEADLESS = [
    "--headless",
    "--users",
    "5",
    "--spawn-rate",
    "5",
    "--run-time",
    "20s",
    "--only-summary",
]


def test_twenty_seconds_of_audience_without_a_failure(house: House) -> None:
    if house.mode == "containers":
        # -e: a second Locust in the same container, beside the one with the web page.
        report = house.compose("exec", "-T", "locust", "locust", *HEADLESS, timeout=90)
    else:
        done = subprocess.run(
            [REPO / ".venv" / "bin" / "locust", *HEADLESS],
            cwd=REPO / "loadtest",
            env={**os.environ, "LOCUST_HOST": f"http://{house.native_net}.1:8000"},
            capture_output=True,
            text=True,
            timeout=90,
        )
        report = done.stdout + done.stderr
        assert done.returncode == 0, report
    total = re.search(r"Aggregated\s+(\d+)\s+(\d+)\(", report)
    assert total, report
    assert int(total[1]) > 100, report
    assert int(total[2]) == 0, report
