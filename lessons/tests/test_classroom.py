"""A class: what is read from the learners' files, the table, the gradebook; the copies' ports."""

import csv
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from lessons.classroom import status
from lessons.classroom.copies import PASSIVE, PORTS, SERVICES
from lessons.classroom.status import Copy, Result, as_csv, as_table, health, read_copies, read_result
from lessons.lesson import lessons
from proscenium.settings import SETTINGS

NOW = 1795390874.0
DONE = {"began": 5.0, "done": 9.0, "answers": 2, "attempts": 1}
BEST = {"began": 1.0, "done": 2.0, "answers": 1}


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        ({"began": 7, "answers": 1, "attempts": 1}, Result(1, "begun", 1, 1, 7, 0, 7, True)),
        (DONE, Result(1, "done", 2, 1, 5, 9, 5)),
        (DONE | {"best": BEST, "attempts": 2}, Result(1, "done", 1, 2, 1, 2, 5)),
        (
            {"began": 7, "attempts": 2, "best": BEST, "said": "No."},
            Result(1, "done", 1, 2, 1, 2, 7, True, "No."),
        ),
    ],
)
def test_the_best_attempt_counts(kept: dict[str, Any], expected: Result, tmp_path: Path) -> None:
    (tmp_path / "01.json").write_text(json.dumps(kept))
    assert read_result(1, tmp_path) == expected
    assert read_result(2, tmp_path) == Result(2)


@pytest.mark.parametrize(
    "text",
    [
        *("{", "[]", "3", "null", "[" * 50_000, "\xff", '{"best": [1]}', '{"done": "x"}', '{"began": NaN}'),
        *('{"began": -1}', '{"began": 1e999}', '{"done": 1' + "0" * 400 + "}", '{"answers": [2]}'),
    ],
    ids=lambda text: text[:20],
)
def test_a_damaged_file_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "01.json").write_text(text, encoding="latin-1")
    assert read_result(1, tmp_path) == Result(1, "damaged")


def test_every_copy_is_found_by_the_settings_that_were_handed_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status, "running_services", lambda: {"x-class-07": {"nginx": "healthy"}})
    (tmp_path / "07.env").write_text("# made\nCOMPOSE_PROJECT_NAME=x-class-07\nHTTP_PORT=20780\n")
    kept = tmp_path / "07" / ".run" / "x-class-07" / "lessons"
    kept.mkdir(parents=True)
    (kept / "02.json").write_text(json.dumps(DONE))
    [copy] = read_copies(tmp_path)
    assert (copy.number, copy.numbers("done")) == (7, "2")
    assert copy.health.startswith("varnish missing")
    assert len(copy.results) == len(lessons())


def test_health_names_what_is_not_healthy() -> None:
    all_healthy = dict.fromkeys(SERVICES, "healthy")
    assert health(all_healthy) == "healthy"
    assert health(all_healthy | {"backend": "exited"}) == "backend exited"
    assert health({}) == "down"


WORKING = Result(3, "begun", 0, 2, NOW - 1000, 0, NOW - 1000, True, "<script>alert(1)</script>\n\033[2J {0}")
CLASS = [
    Copy(7, "healthy", [Result(1, "done", 1, 1, NOW - 3600, NOW - 3000, NOW - 3600)]),
    Copy(8, "down", [Result(1), WORKING, Result(4, "damaged")]),
]


def test_the_table_shows_first_who_has_spent_longest_and_runs_nothing_of_a_learner() -> None:
    _, first, second, counts = as_table(CLASS, NOW).splitlines()
    expected = "8 0/3 - (3 begun) (4 damaged) 3, for 16 min <script>alert(1)</script> [2J {0} down"
    assert " ".join(first.split()) == expected
    assert second.split() == ["7", "1/1", "1", "-", "healthy"]
    assert counts == "Learners at work: lesson 3: 1"


def test_a_gradebook_gets_no_words_of_a_learner() -> None:
    text = as_csv(CLASS)
    assert "script" not in text
    rows = list(csv.DictReader(text.splitlines()))
    assert [(row["copy"], row["lesson"]) for row in rows] == [("7", "1"), ("8", "1"), ("8", "3"), ("8", "4")]
    assert (rows[0]["title"], rows[0]["state"], rows[0]["attempts"]) == (lessons()[0].title, "done", "1")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", rows[0]["done"])
    assert (rows[1]["began"], rows[1]["done"]) == ("", "")


def test_a_copy_has_all_ports_and_no_two_are_the_same() -> None:
    published = {each.name for each in SETTINGS if each.published}
    assert PORTS.keys() | {"FTP_PASSIVE_PORTS"} == published | {"THEATRES_SWF_PORT"}
    assert set(Counter([*PORTS.values(), *PASSIVE]).values()) == {1}
