"""labs/edge: the counts for a page, and the table. tests/test_machines.py tests the visitors."""

from labs.edge import lab
from labs.edge.prober import Page


def test_a_gap_that_does_not_end_counts_as_far_as_it_was_seen() -> None:
    page = Page()
    for began, came in ((0.0, True), (1.0, False), (1.5, True), (2.0, False), (5.0, False)):
        page.count(began, began + 0.1, came)
    assert (page.asked, page.failed, round(page.gap, 1)) == (5, 3, 3.1)


def test_the_table_has_a_cell_for_each_column() -> None:
    pages = {path: {"asked": 9, "failed": 2, "gap": 1.5} for path in lab.PAGES.values()}
    counts = dict.fromkeys(("asked", "failed", "repeated", "slow", "sockets_ended", "took"), 0)
    titles, line, row = lab.table([counts | {"event": "x", "held": {}, "pages": pages}]).splitlines()
    assert {titles.count("|"), line.count("|"), row.count("|")} == {12}
    assert row.endswith("| 2 of 9 | 1.5 | 2 of 9 | 1.5 |")
