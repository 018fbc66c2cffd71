"""What a class's status makes of the files in which a learner's results are kept."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from checking.lesson import lessons
from classroom.results import LETTERS, MOST, Result, parse_result, results

DONE = {"began": 5.0, "done": 9.0, "answers": 1, "attempts": 2}
BEST = {"began": 1.0, "done": 2.0, "answers": 3}


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        (DONE, Result(1, "done", 2, 1, 5, 9)),
        ({"word": "k", "began": 5, "answers": 0, "done": 0}, Result(1, "begun", began=5)),  # the older form
        ({}, Result(1, "begun")),
        (DONE | {"done": 4}, Result(1, "begun", 2, 1, 5)),  # done before it began
        (DONE | {"answers": 0}, Result(1, "begun", 2, 0, 5)),
        (DONE | {"best": None, "said": None}, Result(1, "done", 2, 1, 5, 9)),
        (
            {"began": 7, "attempts": 3, "best": BEST, "said": "Not yet."},
            Result(1, "done", 3, 3, 1, 2, 7, "Not yet."),
        ),
        (DONE | {"best": BEST}, Result(1, "done", 2, 1, 5, 9)),
        ({"began": 7, "best": BEST | {"done": 0.5}}, Result(1, "begun", began=7)),
    ],
)
def test_a_lesson_is_done_if_the_newest_attempt_or_an_earlier_one_was(
    kept: dict[str, Any], expected: Result
) -> None:
    assert parse_result(1, kept) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("{", "[]", "3", "null", "[" * 50_000, "\xff", '{"said": "' + "x" * MOST + '"}'),
        *('{"began": "now"}', '{"began": -1}', '{"began": NaN}', '{"began": 1e999}'),
        *('{"said": ["x"]}', '{"best": [1]}', '{"best": {"done": "x"}}'),
        '{"began": 1, "done": 1' + "0" * 400 + "}",
    ],
    ids=lambda text: text[:20],
)
def test_a_file_that_holds_no_attempt_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "01.json").write_text(text, encoding="latin-1")
    found, damaged = results(tmp_path)
    assert damaged == ["01.json"]
    assert found[0] == Result(1)


def test_all_lessons_are_listed(tmp_path: Path) -> None:
    (tmp_path / "02.json").write_text(json.dumps(DONE | {"said": "s" * 999}))
    found, damaged = results(tmp_path)
    assert damaged == []
    assert [result.lesson for result in found] == [lesson.number for lesson in lessons()]
    assert [result.lesson for result in found if result.state] == [2]
    assert found[1].said == "s" * LETTERS
    assert {result.state for result in results(tmp_path / "none")[0]} == {""}


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "01.json")
    (tmp_path / "02.json").mkdir()
    (tmp_path / "other").write_text(json.dumps(DONE))
    (tmp_path / "03.json").symlink_to(tmp_path / "other")
    (tmp_path / "04.json").symlink_to("/dev/zero")
    assert results(tmp_path)[1] == ["01.json", "02.json", "03.json", "04.json"]
