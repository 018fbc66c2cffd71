"""purge: a cache that is away, silent or slow costs a maker two tries and no more."""

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from upstage.purge import TIMEOUT, Purger


def test_without_a_cache_there_is_nothing_to_do() -> None:
    results: list[bool] = []
    Deferred.fromCoroutine(Purger(Clock(), None).purge("/media/x.png")).addCallback(results.append)
    assert results == [True]


def test_a_silent_cache_is_given_up() -> None:
    clock = Clock()
    asked: list[str] = []
    results: list[bool] = []
    purger = Purger(clock, ("varnish", 8082))

    async def ask(url: str) -> int:
        asked.append(url)
        return await Deferred[int]()

    purger._ask = ask  # type: ignore[method-assign]
    Deferred.fromCoroutine(purger.purge("/media/x.png")).addCallback(results.append)
    assert asked == ["/media/x.png"]
    clock.advance(TIMEOUT)
    assert asked == ["/media/x.png"] * 2
    assert results == []
    clock.advance(TIMEOUT)
    assert results == [False]
