"""purge: an unreachable cache costs a player two attempts; the purge is repeated until it succeeds."""

from collections import Counter
from pathlib import Path

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from running_backend import DRAWING, Backend, Editor, PurgedCache, ask
from support.origin import Request
from upstage.net.purge import (
    AGAIN,
    LOOK_UP,
    MAX_QUEUE,
    REMEMBER,
    RETRY,
    STOP_TIME,
    TIMEOUT,
    CachePurger,
    Purger,
    tag_of,
)

OK, NO = 200, 503


class FakePurger(CachePurger):
    """The purger of one cache, with a fake cache: `answer` is its status, None if it does not answer."""

    def __init__(self) -> None:
        self.clock = Clock()
        super().__init__(self.clock, "192.0.2.1", 8082, Counter(purged=0, failed=0, lost=0))
        self.asked: list[tuple[float, str]] = []
        self.answer: int | None = OK
        self.results: list[bool] = []
        self.startService()

    async def _ask(self, tag: str) -> int:
        self.asked.append((self.clock.seconds(), tag))
        if self.answer is None:
            self.thinking = Deferred[int]()
            return await self.thinking
        return self.answer

    def purge_soon(self, tag: str) -> None:
        Deferred.fromCoroutine(self.purge(tag)).addCallback(self.results.append)

    def wait(self, seconds: float) -> list[tuple[float, str]]:
        """Let time pass; return the purges in it."""
        before = len(self.asked)
        for _ in range(round(seconds * 16)):
            self.clock.advance(1 / 16)
        return self.asked[before:]


@pytest.fixture
def purger() -> FakePurger:
    return FakePurger()


class FakePurgers(Purger):
    """A purger of all caches of a name: `found` are their addresses, `answers` their statuses."""

    def __init__(self) -> None:
        self.clock = Clock()
        super().__init__(self.clock, ("varnish", 8082))
        self.found = {"192.0.2.1", "192.0.2.2"}
        self.answers = dict.fromkeys(["192.0.2.1", "192.0.2.2", "192.0.2.3"], OK)
        self.asked: list[tuple[str, str]] = []
        self.startService()

    async def _look_up(self, host: str, port: int) -> set[str]:
        return self.found

    def _purger_of(self, address: str, port: int) -> CachePurger:
        cache = super()._purger_of(address, port)

        async def ask(tag: str) -> int:
            self.asked.append((address[-1], tag))
            return self.answers[address]

        cache._ask = ask  # type: ignore[method-assign]
        return cache

    def purged(self, tag: str) -> bool:
        results: list[bool] = []
        Deferred.fromCoroutine(self.purge(tag)).addCallback(results.append)
        return results[0]

    def wait(self, seconds: float) -> list[tuple[str, str]]:
        """Let time pass; return who was asked to purge what."""
        before = len(self.asked)
        for _ in range(round(seconds * 16)):
            self.clock.advance(1 / 16)
        return self.asked[before:]


@pytest.fixture
def purgers() -> FakePurgers:
    return FakePurgers()


def test_without_a_cache_a_purge_succeeds_at_once() -> None:
    results: list[bool] = []
    purger = Purger(Clock(), None)
    purger.startService()
    Deferred.fromCoroutine(purger.purge("medium-x-png")).addCallback(results.append)
    assert results == [True]
    assert purger.queued == 0


def test_a_silent_cache_is_tried_twice(purger: FakePurger) -> None:
    purger.answer = None
    purger.purge_soon("x")
    assert purger.asked == [(0.0, "x")]
    purger.clock.advance(TIMEOUT)
    assert purger.asked == [(0.0, "x"), (TIMEOUT, "x")]
    assert purger.results == []
    purger.clock.advance(TIMEOUT)
    assert purger.results == [False]


def test_a_purge_is_repeated_once_a_moment_later(purger: FakePurger) -> None:
    purger.purge_soon("x")
    assert purger.results == [True]
    assert purger.wait(0.25) == []
    purger.purge_soon("y")
    purger.asked.clear()
    assert purger.wait(60) == [(AGAIN, "x"), (0.25 + AGAIN, "y")]
    assert (purger.queued, purger.outcomes) == (0, {"purged": 4, "failed": 0, "lost": 0})
    assert purger.clock.getDelayedCalls() == []


def test_the_repetition_counts_from_the_last_change(purger: FakePurger) -> None:
    purger.purge_soon("x")
    purger.purge_soon("y")
    purger.wait(0.375)
    purger.purge_soon("x")
    assert purger.wait(60) == [(AGAIN, "y"), (0.375 + AGAIN, "x")]


def test_a_change_during_its_purge_is_purged_again(purger: FakePurger) -> None:
    purger.purge_soon("x")
    purger.answer = None
    assert purger.wait(AGAIN) == [(AGAIN, "x")]  # and the cache has not answered yet
    purger.answer = OK
    purger.purge_soon("x")
    purger.thinking.callback(OK)
    assert purger.wait(60) == [(2 * AGAIN, "x")]
    assert purger.queued == 0


def test_purges_are_repeated_one_at_a_time(purger: FakePurger) -> None:
    purger.purge_soon("x")
    purger.answer = None
    assert purger.wait(AGAIN) == [(AGAIN, "x")]  # and the cache has not answered yet
    purger.answer = OK
    purger.purge_soon("y")
    assert purger.wait(AGAIN) == []
    purger.thinking.callback(OK)
    assert [tag for _, tag in purger.wait(60)] == ["y"]


def test_an_unreachable_cache_gets_all_purges_later(purger: FakePurger) -> None:
    purger.answer = NO
    for tag in "xyz":
        purger.purge_soon(tag)
    assert purger.results == [False] * 3
    assert purger.wait(AGAIN + 2 * RETRY) == [(AGAIN + n * RETRY, "x") for n in range(3)]  # one at a time
    assert purger.queued == 3
    purger.answer = OK
    assert [tag for _, tag in purger.wait(RETRY)] == ["x", "y", "z"]
    assert purger.queued == 0
    assert purger.outcomes == {"purged": 3, "failed": 6 + 3, "lost": 0}


def test_the_queue_is_bounded_and_lost_purges_are_counted(purger: FakePurger) -> None:
    purger.answer = NO
    for number in range(MAX_QUEUE + 3):
        purger.purge_soon(f"x{number}")
    assert (purger.queued, purger.outcomes["lost"]) == (MAX_QUEUE, 3)
    purger.answer = OK
    heard = [tag for _, tag in purger.wait(RETRY)]
    assert (heard[0], heard[-1]) == ("x3", f"x{MAX_QUEUE + 2}")


@pytest.mark.parametrize(("answer", "said", "lost"), [(OK, ["x", "y"], 0), (NO, ["x"], 2), (None, ["x"], 2)])
def test_a_stop_sends_the_queued_purges(
    purger: FakePurger, answer: int | None, said: list[str], lost: int
) -> None:
    purger.purge_soon("x")
    purger.purge_soon("y")
    purger.answer = answer
    purger.asked.clear()
    stopped: list[None] = []
    purger.stopService().addCallback(stopped.append)
    purger.clock.advance(TIMEOUT)
    assert stopped == [None]
    assert [tag for _, tag in purger.asked] == said
    assert (purger.queued, purger.outcomes["lost"]) == (0, lost)
    assert purger.clock.getDelayedCalls() == []


def test_a_slow_cache_does_not_delay_the_stop(purger: FakePurger) -> None:
    for number in range(5):
        purger.purge_soon(f"x{number}")

    async def slow(tag: str) -> int:
        purger.clock.advance(0.9 * TIMEOUT)
        return OK

    purger._ask = slow  # type: ignore[method-assign]
    before = purger.clock.seconds()
    purger.stopService()
    assert purger.clock.seconds() - before < STOP_TIME + TIMEOUT
    assert purger.outcomes["lost"] == 3


def test_every_cache_of_a_name_is_purged(purgers: FakePurgers) -> None:
    assert purgers.purged("x")
    assert sorted(purgers.asked) == [("1", "x"), ("2", "x")]
    assert purgers.queued == 2
    assert sorted(purgers.wait(AGAIN)) == [("1", "x"), ("2", "x")]
    assert (purgers.queued, purgers.outcomes) == (0, {"purged": 4, "failed": 0, "lost": 0})


def test_one_cache_that_refuses_is_enough_to_say_so(purgers: FakePurgers) -> None:
    purgers.answers["192.0.2.2"] = NO
    assert not purgers.purged("x")
    purgers.wait(AGAIN)
    purgers.answers["192.0.2.2"] = OK
    assert purgers.wait(RETRY) == [("2", "x")]
    assert purgers.queued == 0


def test_a_cache_that_was_away_gets_what_it_has_missed(purgers: FakePurgers) -> None:
    purgers.purged("before")
    purgers.found = {"192.0.2.1"}
    assert purgers.purged("x")
    assert purgers.purged("y")
    assert "2" not in dict(purgers.wait(60))
    purgers.found = {"192.0.2.1", "192.0.2.2", "192.0.2.3"}
    missed = [("2", "before"), ("2", "x"), ("2", "y")]
    heard = purgers.wait(LOOK_UP + 0.5)
    assert [(cache, tag) for cache, tag in heard if cache == "2"] == missed
    assert {tag for cache, tag in heard if cache == "3"} == {"before", "x", "y"}
    assert "1" not in dict(heard)
    assert purgers.queued == 0


def test_a_cache_that_is_gone_is_asked_no_more(purgers: FakePurgers) -> None:
    purgers.answers["192.0.2.2"] = NO
    purgers.purged("x")
    purgers.found = {"192.0.2.1"}
    purgers.wait(1)
    assert purgers.wait(60) == []
    assert purgers.queued == 0


def test_no_answer_of_the_resolver_changes_nothing(purgers: FakePurgers) -> None:
    purgers.purged("x")
    purgers.found = set()
    assert purgers.purged("y")
    assert sorted(purgers.asked[-2:]) == [("1", "y"), ("2", "y")]


def test_without_any_address_a_purge_fails_and_is_made_up_for(purgers: FakePurgers) -> None:
    found, purgers.found = purgers.found, set()
    assert not purgers.purged("x")
    assert purgers.outcomes["failed"] == 1
    purgers.wait(5)
    purgers.found = found
    assert sorted(purgers.wait(LOOK_UP + 0.25)) == [("1", "x"), ("2", "x")]


def test_missed_purges_are_kept_for_ten_minutes_and_bounded(purgers: FakePurgers) -> None:
    purgers.found = {"192.0.2.1"}
    for number in range(MAX_QUEUE + 3):
        purgers.purged(f"x{number}")
    purgers.wait(AGAIN)
    purgers.found = {"192.0.2.1", "192.0.2.2"}
    heard = [tag for cache, tag in purgers.wait(LOOK_UP + 0.25 + MAX_QUEUE / 16) if cache == "2"]
    assert (heard[0], len(heard)) == ("x3", MAX_QUEUE)
    purgers.wait(REMEMBER)
    purgers.found = {"192.0.2.3"}
    assert purgers.wait(2) == []
    assert purgers.clock.getDelayedCalls() == []


def test_a_stop_tells_every_cache(purgers: FakePurgers) -> None:
    purgers.purged("x")
    purgers.asked.clear()
    stopped: list[object] = []
    purgers.stopService().addCallback(stopped.append)
    assert stopped
    assert sorted(purgers.asked) == [("1", "x"), ("2", "x")]
    assert purgers.clock.getDelayedCalls() == []


def test_a_tag_is_a_word_that_varnish_accepts() -> None:
    assert tag_of("fox.svg") == "medium-fox-svg"
    assert tag_of("audio/bell_2.mp3") == "medium-audio-bell_2-mp3"
    assert tag_of("x" * 200 + ".png") == "medium-" + "x" * 57
    assert tag_of("a b|.*)\r\n") == "medium-a-b------"


class RacingCache(PurgedCache):
    """A cache that stores the old content just after its first purge."""

    kept = False

    def purge(self, request: Request) -> bytes:
        self.kept = len(self.requests) == 1
        return super().purge(request)


def test_a_second_purge_removes_a_copy_stored_during_the_first(tmp_path: Path) -> None:
    cache = RacingCache()
    server = Backend(tmp_path, UPSTAGE_ADMIN_PASSWORD="open sesame", UPSTAGE_PURGE=cache.address)
    editor = Editor(server)
    cup = editor.bring("Cup")
    assert editor.upload(f"/admin/workshop/media/{cup}", DRAWING % b"new").status == 302
    assert cache.kept
    server.wait_for(lambda: not cache.kept)
    assert cache.tags == [tag_of(cup)] * 2
    (server.media / "video" / "ann.jpg").write_bytes(b"a picture")
    still = ask(server, "/media/video-still/ann.jpg")
    assert still.headers["x-cache-tags"] == "media " + tag_of("video/ann.jpg")
    assert server.stop() == 0
    cache.close()


def test_the_command_drops_a_path_or_what_has_a_tag(workshop: Backend, cache: PurgedCache) -> None:
    cache.forget_requests()
    assert workshop.upstage("purge", "/media/fox.svg?x=1") == (0, "", "")
    assert workshop.upstage("purge", "/", "--tag", "demo") == (0, "", "")
    first, second = cache.requests
    assert (first.method, first.target, first.headers.get("x-tag")) == ("PURGE", "/media/fox.svg?x=1", None)
    assert (second.method, second.target, second.headers.get("x-tag")) == ("PURGE", "/", "demo")
    cache.status = "400 Not a tag"
    refused = (1, "", "upstage: the cache 127.0.0.1 did not purge: 400 Not a tag\n")
    assert workshop.upstage("purge", "/", "--tag", "a.b") == refused
    cache.status = "200 Purged"
    assert "did not purge" in workshop.upstage("purge", "/a b")[2]
    assert "no cache to purge" in workshop.upstage("purge", "/", UPSTAGE_PURGE="")[2]
    assert "did not purge" in workshop.upstage("purge", "/", UPSTAGE_PURGE="127.0.0.1:1")[2]
