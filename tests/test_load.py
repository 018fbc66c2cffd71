"""Locust, headless, from where it stands in the stack."""

import re

from house import House


def test_twenty_seconds_of_audience_without_a_failure(house: House) -> None:
    report = house.make("load")
    total = re.search(r"Aggregated\s+(\d+)\s+(\d+)\(", report)
    assert total, report
    assert int(total[1]) > 100, report
    assert int(total[2]) == 0, report
