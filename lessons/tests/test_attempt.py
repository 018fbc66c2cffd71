"""What is kept of an attempt."""

from pathlib import Path

import pytest

from checking.attempt import Attempt, Result
from checking.errors import StartAgain
from checking.stack import Stack


@pytest.fixture
def stack(monkeypatch: pytest.MonkeyPatch) -> Stack:
    for name, value in {"HTTP_PORT": "8080", "COMPOSE_PROJECT_NAME": "x", "BIND_ADDR": "127.0.0.1"}.items():
        monkeypatch.setenv(name, value)
    return Stack()


def test_what_is_saved_is_loaded(tmp_path: Path, stack: Stack) -> None:
    file = tmp_path / "lessons" / "01.json"
    assert Attempt.load(file, stack) is None
    best = Result(0.5, 1.0, answers=3)
    saved = Attempt("k1", 1.5, {"MAIN.cache_hit": 3}, {"nginx": "12:00"}, answers=2, done=9.5, best=best)
    saved.save(file)
    assert Attempt.load(file, stack) == saved
    assert [path.name for path in file.parent.iterdir()] == ["01.json"]


def test_the_best_result_stays() -> None:
    first = Attempt("k1", 1.0, {}, {}, answers=1, done=2.0)
    assert first.result == Result(1.0, 2.0, 1)
    assert Attempt("k2", 3.0, {}, {}, best=first.result).result == first.result
    assert Attempt("k2", 3.0, {}, {}, answers=4, done=5.0, best=first.result).result == first.result
    assert Attempt("k2", 3.0, {}, {}).result is None


@pytest.mark.parametrize("text", ["", "[]", "{", '{"word": "k1"}', '{"unknown": 1}'])
def test_a_damaged_file_is_named(tmp_path: Path, stack: Stack, text: str) -> None:
    file = tmp_path / "01.json"
    file.write_text(text)
    with pytest.raises(StartAgain, match=r"01\.json is damaged \(.+\)\. Remove it"):
        Attempt.load(file, stack)
