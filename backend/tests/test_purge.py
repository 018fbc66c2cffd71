"""purge: every cache is told; a silent one is tried twice, and is told as soon as it answers."""

import json
from collections import Counter
from pathlib import Path

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.python.failure import Failure

from backend.tests.fake_reactor import begin
from backend.tests.running_backend import Backend, PurgedCache
from upstage.net.purge import (
    AGAIN,
    ALL_MEDIA,
    MAX_QUEUE,
    RETRY,
    STOP_TIME,
    TIMEOUT,
    TOLD,
    Cache,
    Purge,
    Purger,
    Told,
    tag_of,
)

OK, NO = "", "503 No"


class FakeCache(Cache):
    """The purges of a fake cache: `status` is what it reports, OK or NO, None if it does not answer."""

    def __init__(self, folder: Path) -> None:
        self.clock = Clock()
        self.outcomes = Counter(purged=0, failed=0, lost=0)
        super().__init__(self.clock, ("varnish", 8082), self.outcomes, Told(folder / TOLD, ["varnish:8082"]))
        self.asked: list[tuple[float, str]] = []
        self.status: str | None = OK
        self.purges: list[list[str | Failure]] = []
        self.hosts = ["192.0.2.1"]
        self.startService()

    async def _look_up(self) -> list[str]:
        return self.hosts

    async def _send(self, host: str, purge: Purge) -> str:
        self.asked.append((self.clock.seconds(), purge.tag))
        if self.status is None:
            self.thinking = Deferred[str]()
            return await self.thinking
        return self.status

    def purge_soon(self, tag: str) -> None:
        self.purges.append(begin(self.purge(Purge(tag))))

    @property
    def results(self) -> list[str | Failure]:
        return [result for purge in self.purges for result in purge]

    def wait(self, seconds: float) -> list[tuple[float, str]]:
        """Let time pass; return the purges that were sent."""
        before = len(self.asked)
        self.clock.pump([1 / 16] * round(seconds * 16))
        return self.asked[before:]


@pytest.fixture
def purger(tmp_path: Path) -> FakeCache:
    return FakeCache(tmp_path)


def test_without_a_cache_a_purge_succeeds_at_once(tmp_path: Path) -> None:
    assert begin(Purger(Clock(), [], tmp_path / TOLD).purge(Purge(ALL_MEDIA))) == [OK]


def test_every_cache_is_told_and_the_failures_are_named(purger: FakeCache, tmp_path: Path) -> None:
    all_caches, away = Purger(purger.clock, [], tmp_path / "told"), FakeCache(tmp_path)
    away.status, away._label = NO, "varnish-2:8082"
    all_caches.caches = [purger, away]
    results = begin(all_caches.purge(Purge("x")))
    assert ([tag for _, tag in purger.asked], results) == (["x"], ["varnish-2:8082: 503 No"])
    purger.wait(AGAIN)
    assert all_caches.queued == 1  # the purge of the other cache


def test_every_cache_behind_a_name_is_told_and_silent_ones_are_tried_twice(purger: FakeCache) -> None:
    purger.hosts = ["192.0.2.1", "192.0.2.2"]
    purger.purge_soon("x")
    purger.status = None
    purger.purge_soon("y")
    purger.clock.advance(TIMEOUT)
    assert purger.results == [OK]
    purger.clock.advance(TIMEOUT)
    silent = "varnish:8082 (192.0.2.1): no answer, varnish:8082 (192.0.2.2): no answer"
    assert purger.results == [OK, silent]
    assert [tag for _, tag in purger.asked][:2] == ["x", "x"]
    assert [when for when, tag in purger.asked if tag == "y"] == [0, 0, TIMEOUT, TIMEOUT]


def test_lookups_of_a_name_take_one_thread(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    threads: list[Deferred[list[str]]] = []

    def to_thread(look_up: object, host: str) -> Deferred[list[str]]:
        threads.append(Deferred())
        return threads[-1]

    monkeypatch.setattr("upstage.net.purge.deferToThread", to_thread)
    cache = Cache(clock := Clock(), ("varnish", 8082), Counter(), Told(tmp_path / TOLD, []))
    results = [begin(cache.purge(Purge(tag))) for tag in "xy"]
    clock.pump([TIMEOUT] * 2)
    assert results == [["varnish:8082: no answer"]] * 2
    assert len(threads) == 1
    threads[0].errback(OSError("no such name"))
    begin(cache.purge(Purge("z")))
    assert len(threads) == 2


def test_a_purge_is_repeated_once_a_moment_later(purger: FakeCache) -> None:
    purger.purge_soon("x")
    assert purger.results == [OK]
    assert purger.wait(0.25) == []
    purger.purge_soon("y")
    purger.asked.clear()
    assert purger.wait(60) == [(AGAIN, "x"), (0.25 + AGAIN, "y")]
    assert (purger.queued, purger.outcomes) == (0, {"purged": 4, "failed": 0, "lost": 0})
    assert purger.clock.getDelayedCalls() == []


def test_the_repetition_counts_from_the_last_change(purger: FakeCache) -> None:
    purger.purge_soon("x")
    purger.purge_soon("y")
    purger.wait(0.375)
    purger.purge_soon("x")
    assert purger.wait(60) == [(AGAIN, "y"), (0.375 + AGAIN, "x")]


def test_changes_during_a_purge_are_purged_after_it(purger: FakeCache) -> None:
    purger.purge_soon("x")
    purger.status = None
    assert purger.wait(AGAIN) == [(AGAIN, "x")]  # the cache has not answered yet
    purger.status = OK
    purger.purge_soon("y")
    purger.purge_soon("x")
    assert purger.wait(AGAIN) == []  # purges are repeated one at a time
    purger.thinking.callback(OK)
    assert [tag for _, tag in purger.wait(60)] == ["y", "x"]
    assert purger.queued == 0


def test_a_cache_that_accepts_the_second_attempt_has_been_told(purger: FakeCache) -> None:
    purger.status = None
    result = begin(purger.purge(Purge("x"), again=False))
    purger.status = OK
    purger.clock.advance(TIMEOUT)
    assert result == [OK]
    assert purger._label in purger._told


def test_an_unreachable_cache_gets_all_purges_later(purger: FakeCache) -> None:
    purger.status = NO
    for tag in "xyz":
        purger.purge_soon(tag)
    assert purger.results == ["varnish:8082: 503 No"] * 3
    assert purger.wait(AGAIN + 2 * RETRY) == [(AGAIN + n * RETRY, "x") for n in range(3)]  # one at a time
    assert purger.queued == 3
    purger.status = OK
    assert [tag for _, tag in purger.wait(RETRY)] == ["x", "y", "z"]
    assert purger.queued == 0
    assert purger.outcomes == {"purged": 3, "failed": 6 + 3, "lost": 0}


def test_the_queue_is_bounded_and_lost_purges_are_counted(purger: FakeCache) -> None:
    purger.status = NO
    for number in range(MAX_QUEUE + 3):
        purger.purge_soon(f"x{number}")
    assert (purger.queued, purger.outcomes["lost"]) == (MAX_QUEUE, 3)
    purger.status = OK
    heard = [tag for _, tag in purger.wait(RETRY)]
    # As purges were lost, everything is purged at the end.
    assert (heard[0], heard[-3:]) == ("x3", [f"x{MAX_QUEUE + 2}", "media", "lessons"])


@pytest.mark.parametrize(("status", "said", "lost"), [(OK, ["x", "y"], 0), (NO, ["x"], 2), (None, ["x"], 2)])
def test_a_stop_sends_what_waits(purger: FakeCache, status: str | None, said: list[str], lost: int) -> None:
    purger.purge_soon("x")
    purger.purge_soon("y")
    purger.status = status
    purger.asked.clear()
    stopped: list[None] = []
    purger.stopService().addCallback(stopped.append)
    purger.clock.advance(TIMEOUT)
    assert stopped == [None]
    assert [tag for _, tag in purger.asked] == said
    assert (purger.queued, purger.outcomes["lost"]) == (0, lost)
    assert purger.clock.getDelayedCalls() == []


def test_a_slow_cache_does_not_delay_the_stop(purger: FakeCache) -> None:
    for number in range(5):
        purger.purge_soon(f"x{number}")

    async def slow(host: str, purge: Purge) -> str:
        purger.clock.advance(0.9 * TIMEOUT)
        return OK

    purger._send = slow  # type: ignore[method-assign]
    before = purger.clock.seconds()
    purger.stopService()
    assert purger.clock.seconds() - before < STOP_TIME + TIMEOUT
    assert purger.outcomes["lost"] == 3


def test_a_tag_is_a_word_that_varnish_accepts() -> None:
    assert tag_of("fox.svg") == "medium-fox-svg"
    assert tag_of("audio/bell_2.mp3") == "medium-audio-bell_2-mp3"
    assert tag_of("x" * 200 + ".png") == "medium-" + "x" * 57
    assert tag_of("a b|.*)\r\n") == "medium-a-b------"


def test_the_command_drops_a_path_or_what_has_a_tag(workshop: Backend, cache: PurgedCache) -> None:
    cache.forget_requests()
    assert workshop.upstage("purge", "/media/fox.svg?x=1") == (0, "", "")
    assert workshop.upstage("purge", "/", "--tag", "demo") == (0, "", "")
    first, second = cache.requests
    assert (first.method, first.target, first.headers.get("x-cache-tags")) == (
        "PURGE",
        "/media/fox.svg?x=1",
        None,
    )
    assert (second.method, second.target, second.headers.get("x-cache-tags")) == ("PURGE", "/", "demo")
    for invalid in (("/", "--tag", "a.b"), ('/"',)):
        status, _, problem = workshop.upstage("purge", *invalid)
        assert (status, "neither a path nor a tag" in problem) == (1, True), problem
    assert "the server did not purge" in workshop.upstage("purge", "/a b")[2]
    assert "no cache to purge" in workshop.upstage("purge", "/", UPSTAGE_PURGE="")[2]


def test_a_cache_that_is_new_or_has_missed_a_purge_drops_everything(tmp_path: Path) -> None:
    """So does a cache that could not be reached until the server ended; the others keep their copies."""
    caches = [PurgedCache(), PurgedCache(), PurgedCache()]

    def served(count: int) -> Backend:
        [cache.forget_requests() for cache in caches]
        return Backend(tmp_path, UPSTAGE_PURGE=" ".join(cache.address for cache in caches[:count]))

    server = served(2)
    caches[1].close()
    assert server.upstage("purge", "/", "--tag", "demo")[0] == 1
    assert server.stop() == 0
    caches[1].listen()
    server = served(3)
    server.wait_for(lambda: all(cache.tags == ["media", "lessons"] for cache in caches[1:]))
    server.wait_for(lambda: len(json.loads((server.data / TOLD).read_text())) == 3)
    assert server.stop() == 0
    server = served(3)
    assert server.upstage("purge", "/", "--tag", "demo")[0] == 0
    assert [cache.tags for cache in caches] == [["demo"]] * 3
    server.end()
    for cache in caches:
        cache.close()


def test_what_the_command_could_not_purge_is_purged_later(tmp_path: Path) -> None:
    """When the command has ended, the purge is still in the running server's queue."""
    caches = [PurgedCache(), PurgedCache(), PurgedCache()]
    server = Backend(tmp_path, UPSTAGE_PURGE=" ".join(cache.address for cache in caches))
    caches[1].close()
    caches[2].delay = 5
    status, _, problem = server.upstage("purge", "/", "--tag", "demo")
    assert (status, f"{caches[1].address}: Connection was refused" in problem) == (1, True), problem
    assert f"{caches[2].address}: no answer" in problem
    assert caches[0].address not in problem
    caches[1].listen()
    server.wait_for(lambda: "demo" in caches[1].tags)
    assert server.stop() == 0
    assert "the server did not purge" in server.upstage("purge", "/")[2]
    for cache in caches:
        cache.close()
