"""The stored record of an attempt."""

import json
from dataclasses import asdict
from pathlib import Path
from unittest.mock import create_autospec

import pytest

from lessons.checking import progress
from lessons.checking.attempt import Attempt, Result
from lessons.checking.checks import questions
from lessons.checking.errors import StartAgain
from lessons.checking.evidence import Evidence
from lessons.checking.laboratory import Laboratory
from lessons.checking.question import LETTERS
from lessons.lesson import Lesson, lessons
from proscenium.running import Running


@pytest.fixture
def evidence(tmp_path: Path, settings: None) -> Evidence:
    evidence = Evidence()
    evidence.state = tmp_path
    return evidence


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    file = tmp_path / "lessons" / "01.json"
    assert Attempt.load(file) is None
    best = Result(0.5, 1.0, answers=3)
    saved = Attempt("k1", 1.5, {"nginx": "12:00"}, answers=2, done=9.5, best=best)
    saved.save(file)
    assert Attempt.load(file) == saved
    assert [path.name for path in file.parent.iterdir()] == ["01.json"]


def test_the_best_result_stays() -> None:
    first = Attempt("k1", 1.0, {}, answers=1, done=2.0)
    assert first.result == Result(1.0, 2.0, 1)
    assert Attempt("k2", 3.0, {}, best=first.result).result == first.result
    assert Attempt("k2", 3.0, {}, answers=4, done=5.0, best=first.result).result == first.result
    assert Attempt("k2", 3.0, {}).result is None


def test_what_an_earlier_release_has_kept_besides_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "01.json"
    kept = Attempt("k1", 1.0, {}, answers=1, done=2.0)
    file.write_text(json.dumps(asdict(kept) | {"counters": {}}))
    assert Attempt.load(file) == kept


@pytest.mark.parametrize("text", ["", "[]", "{", '{"word": "k1"}', '{"unknown": 1}'])
def test_a_damaged_file_is_named(tmp_path: Path, text: str) -> None:
    file = tmp_path / "01.json"
    file.write_text(text)
    with pytest.raises(StartAgain, match=r"01\.json is damaged \(.+\)\. Remove it"):
        Attempt.load(file)


def test_an_answer_is_judged_without_the_attempt_if_that_was_right(
    evidence: Evidence, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged = list[Laboratory]()
    monkeypatch.setattr(progress, "judge", lambda lesson, lab: judged.append(lab))
    first = next(iter(lessons()))
    ours = progress.Progress(evidence)
    Attempt("k1", 1.5, {}).save(ours.file_of(first))
    choices = ours.check(first, judged=True).choices  # another command has begun a new attempt
    assert (len(judged), len(choices)) == (1, 4)
    right = LETTERS[choices.index(questions(first)[0].right)]
    assert (ours.check(first, right, judged=True).done, len(judged)) == (True, 1)


def test_a_fault_of_the_check_is_a_sentence_and_takes_the_place_of_the_old_verdict(
    evidence: Evidence, monkeypatch: pytest.MonkeyPatch
) -> None:
    def judge(lesson: Lesson, lab: Laboratory) -> None:
        raise StopIteration("no line")

    monkeypatch.setattr(progress, "judge", judge)
    first = next(iter(lessons()))
    ours = progress.Progress(evidence)
    Attempt("k1", 1.5, {}, said="an old verdict").save(ours.file_of(first))
    said = r"The check itself failed: StopIteration: no line \(test_attempt\.py, line \d+\)\. .* report"
    with pytest.raises(StartAgain, match=said):
        ours.check(first)
    attempt = ours.attempt(first)
    assert attempt
    assert "StopIteration" in attempt.said


def test_results_are_published_before_any_lesson_has_begun(
    evidence: Evidence, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are published once, and again only when they have changed."""
    stack = create_autospec(Running)
    monkeypatch.setattr(progress, "running", lambda: stack)
    evidence.state /= "new"
    for _ in range(2):
        progress.Progress(evidence).publish()
    assert stack.upstage.call_count == 1
