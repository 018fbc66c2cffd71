"""The table of accepted findings: what it allows, and that each entry is needed and has a reason."""

import tomllib
from pathlib import Path

import pytest

from tests.outside.allowed import TABLE, compare


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Return a table with one accepted finding of the tool `lint`, for any service."""
    path = tmp_path / "allowed.toml"
    path.write_text('[[lint]]\nfinding = "no-limit *"\nreason = "There is one."\n')
    return path


def test_a_finding_in_the_table_is_accepted(table: Path) -> None:
    compare("lint", {"no-limit web": "no limit", "no-limit db": "no limit"}, table)


def test_another_finding_fails_with_the_tools_words(table: Path) -> None:
    with pytest.raises(AssertionError, match=r"lint reports root web \(runs as root\): mend it"):
        compare("lint", {"no-limit web": "no limit", "root web": "runs as root"}, table)


def test_an_entry_that_no_finding_needs_fails(table: Path) -> None:
    with pytest.raises(AssertionError, match=r"lint no longer reports no-limit \*: delete"):
        compare("lint", {}, table)


def test_the_entries_of_another_tool_do_not_matter(table: Path) -> None:
    compare("other", {}, table)


def test_every_entry_has_a_reason() -> None:
    entries = [entry for tool in tomllib.loads(TABLE.read_text()).values() for entry in tool]
    assert entries
    assert [entry for entry in entries if len(entry["reason"].split()) < 3] == []
    assert {frozenset(entry) for entry in entries} == {frozenset({"finding", "reason"})}
