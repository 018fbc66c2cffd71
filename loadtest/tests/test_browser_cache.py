from types import SimpleNamespace

import pytest

from users.browser_cache import BrowserCache


@pytest.fixture
def clock() -> SimpleNamespace:
    return SimpleNamespace(now=1000.0)


@pytest.fixture
def cache(clock: SimpleNamespace) -> BrowserCache:
    return BrowserCache(lambda: clock.now)


def test_a_fresh_asset_is_not_requested_again(cache: BrowserCache, clock: SimpleNamespace) -> None:
    cache.store("/a", {"cache-control": "public, max-age=60, immutable", "etag": '"1"'})
    clock.now += 59
    assert cache.fresh("/a")
    clock.now += 1
    assert not cache.fresh("/a")
    assert cache.conditions("/a") == {"If-None-Match": '"1"'}


def test_the_age_in_other_caches_counts(cache: BrowserCache) -> None:
    cache.store("/a", {"cache-control": "max-age=60", "age": "60"})
    assert not cache.fresh("/a")


@pytest.mark.parametrize("control", ["no-cache", "public, No-Cache", "max-age=0, s-maxage=9", ""])
def test_a_copy_without_lifetime_is_revalidated(cache: BrowserCache, control: str) -> None:
    cache.store("/a", {"cache-control": control, "etag": 'W/"1"', "last-modified": "Thu"})
    assert not cache.fresh("/a")
    assert cache.conditions("/a") == {"If-None-Match": 'W/"1"', "If-Modified-Since": "Thu"}


def test_no_store_leaves_no_copy(cache: BrowserCache) -> None:
    cache.store("/a", {"cache-control": "max-age=60", "etag": '"1"'})
    cache.store("/a", {"cache-control": "private, no-store", "etag": '"2"'})
    assert not cache.fresh("/a")
    assert cache.conditions("/a") == {}


def test_a_304_renews_a_copy_and_keeps_its_validator(cache: BrowserCache, clock: SimpleNamespace) -> None:
    cache.store("/a", {"cache-control": "max-age=60", "etag": '"1"'})
    clock.now += 100
    cache.store("/a", {"cache-control": "max-age=60"})
    assert cache.fresh("/a")
    clock.now += 100
    assert cache.conditions("/a") == {"If-None-Match": '"1"'}
