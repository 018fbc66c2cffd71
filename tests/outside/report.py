"""The table of counts in test-results/outside.md: a row for each tool, from its last run."""

from tests.stack import REPO

REPORT = REPO / "test-results" / "outside.md"
HEAD = ["| tool | passed | failed, allowed | other |", "|---|--:|--:|--:|"]


def record(tool: str, passed: int | str, allowed: int, other: int | str = "-") -> None:
    """Write the row of a tool: checks that passed, and failures that `allowed.toml` accepts.

    `other` are tests with neither result: of optional behaviour, or unable to begin.
    """
    REPORT.parent.mkdir(exist_ok=True)
    known = REPORT.read_text().splitlines()[len(HEAD) :] if REPORT.exists() else []
    rows = [row for row in known if not row.startswith(f"| {tool} |")]
    rows.append(f"| {tool} | {passed} | {allowed} | {other} |")
    REPORT.write_text("\n".join([*HEAD, *sorted(rows)]) + "\n")
