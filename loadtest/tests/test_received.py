from collections.abc import Iterator

import pytest

from users import received


@pytest.fixture(autouse=True)
def nothing_received() -> Iterator[None]:
    received.forget()
    yield
    received.forget()


def test_a_received_url_is_warm_until_the_next_run() -> None:
    assert not received.is_warm("/a")
    received.remember("/a", '"1"', 7, missed=True)
    assert received.is_warm("/a")
    assert not received.is_warm("/b")
    received.forget()
    assert not received.is_warm("/a")


def test_one_validator_means_one_body() -> None:
    assert not received.differs("/a", '"1"', 7)
    received.remember("/a", '"1"', 7, missed=True)
    assert not received.differs("/a", '"1"', 7)
    assert received.differs("/a", '"1"', 8)
    assert not received.differs("/a", '"2"', 8)
    assert not received.differs("/b", '"1"', 8)


def test_a_miss_is_remembered_and_a_hit_does_not_cancel_it() -> None:
    assert not received.has_missed("/a")
    for missed, expected in ((False, False), (True, True), (False, True)):
        received.remember("/a", "", 7, missed)
        assert received.has_missed("/a") is expected
    received.forget()
    assert not received.has_missed("/a")


def test_without_a_validator_every_body_is_accepted() -> None:
    received.remember("/a", "", 7, missed=True)
    assert not received.differs("/a", "", 8)


def test_the_url_received_longest_ago_is_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(received, "MOST", 2)
    for url in ("/a", "/b", "/a", "/c"):
        received.remember(url, "", 0, missed=False)
    assert [received.is_warm(url) for url in ("/a", "/b", "/c")] == [True, False, True]
