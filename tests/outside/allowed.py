"""The findings that outside tools may report here: `allowed.toml` lists each of them, and the reason."""

import tomllib
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path

TABLE = Path(__file__).parent / "allowed.toml"


def compare(tool: str, findings: Mapping[str, str], table: Path = TABLE) -> None:
    """Compare the findings of a tool, each with the tool's own words, with its entries in the table.

    Raise AssertionError for a finding that no entry allows, and for an entry that no finding needs.
    """
    patterns = [entry["finding"] for entry in tomllib.loads(table.read_text()).get(tool, [])]
    complaints = [
        f"{tool} reports {name} ({words}): mend it, or say in {table.name} why it is accepted."
        for name, words in findings.items()
        if not any(fnmatchcase(name, pattern) for pattern in patterns)
    ]
    complaints += [
        f"{tool} no longer reports {pattern}: delete its entry in {table.name}."
        for pattern in patterns
        if not any(fnmatchcase(name, pattern) for name in findings)
    ]
    assert not complaints, "\n".join(complaints)
