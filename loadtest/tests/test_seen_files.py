import pytest

from users import seen_files


def test_a_received_url_is_warm_until_the_next_run() -> None:
    assert not seen_files.is_warm("/a")
    seen_files.remember("/a", '"1"', 7, missed=True)
    assert seen_files.is_warm("/a")
    assert not seen_files.is_warm("/b")
    seen_files.forget()
    assert not seen_files.is_warm("/a")


def test_one_validator_means_one_body() -> None:
    assert not seen_files.differs("/a", '"1"', 7)
    seen_files.remember("/a", '"1"', 7, missed=True)
    assert not seen_files.differs("/a", '"1"', 7)
    assert seen_files.differs("/a", '"1"', 8)
    assert not seen_files.differs("/a", '"2"', 8)
    assert not seen_files.differs("/b", '"1"', 8)
    seen_files.remember("/c", "", 7, missed=True)
    assert not seen_files.differs("/c", "", 8), "it has none"


def test_a_miss_is_remembered_and_a_hit_does_not_cancel_it() -> None:
    assert not seen_files.has_missed("/a")
    for missed, expected in ((False, False), (True, True), (False, True)):
        seen_files.remember("/a", "", 7, missed)
        assert seen_files.has_missed("/a") is expected
    seen_files.forget()
    assert not seen_files.has_missed("/a")


def test_the_url_received_longest_ago_is_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seen_files, "MOST", 2)
    for url in ("/a", "/b", "/a", "/c"):
        seen_files.remember(url, "", 0, missed=False)
    assert [seen_files.is_warm(url) for url in ("/a", "/b", "/c")] == [True, False, True]
