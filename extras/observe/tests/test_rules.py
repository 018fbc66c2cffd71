"""Each alert has a firing and a silent case in extras/observe/prometheus/rules.test.yml, which
tests/test_observe.py runs.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

FOLDER = Path(__file__).parents[1] / "prometheus"
LESSONS = Path(__file__).parents[3] / "lessons"
RULES: list[dict[str, Any]] = yaml.safe_load((FOLDER / "rules.yml").read_text())["groups"][0]["rules"]
TESTS: list[dict[str, Any]] = yaml.safe_load((FOLDER / "rules.test.yml").read_text())["tests"]
ALERTS = {rule["alert"]: rule for rule in RULES if "alert" in rule}


@pytest.mark.parametrize("alert", ALERTS)
def test_an_alert_has_a_firing_and_a_silent_case(alert: str) -> None:
    cases = [case for test in TESTS for case in test.get("alert_rule_test", []) if case["alertname"] == alert]
    assert {bool(case.get("exp_alerts")) for case in cases} == {True, False}


@pytest.mark.parametrize("alert", ALERTS)
def test_an_alert_says_how_grave_it_is_and_leads_to_a_lesson_that_exists(alert: str) -> None:
    rule = ALERTS[alert]
    assert rule["labels"]["severity"] in ("page", "ticket")
    assert rule["annotations"].keys() <= {"summary", "lesson"}
    assert rule["annotations"]["summary"]
    if lesson := rule["annotations"].get("lesson"):
        assert (LESSONS / lesson.removeprefix("/lessons/") / "README.md").is_file()
