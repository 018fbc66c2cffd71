"""`make trace` explains Varnish's log: recorded ones of varnishlog 7.7, then those of the running stack."""

import subprocess
import threading
import time
import uuid
from pathlib import Path

import pytest

from stack import REPO, Stack
from support.ports import free_ports
from support.wait import wait_until

CAPTURED = Path(__file__).parent / "captured"


def explained(name: str) -> str:
    """The explanation of one recorded log, with single spaces between the columns."""
    command = ["awk", "-f", "bin/lib/trace.awk", str(CAPTURED / f"varnishlog-{name}.txt")]
    done = subprocess.run(command, cwd=REPO, capture_output=True, text=True, check=True)
    return "\n".join(" ".join(line.split()) for line in done.stdout.splitlines())


def test_a_pass_is_not_stored() -> None:
    text = explained("pass")
    assert "answered 200 after 1.6 ms, Cache-Control: max-age=0, s-maxage=1" in text
    assert "not stored: it is a pass" in text
    assert "kept" not in text


@pytest.mark.parametrize("name", ["not-found", "not-found-again"])
def test_a_404_is_not_stored(name: str) -> None:
    text = explained(name)
    assert "not stored; for 120 s requests for this do not wait for each other (hit-for-miss)" in text
    assert "kept for" not in text
    assert "Cache-Control: no-store" in text
    assert ("the last response could not be stored" in text) == (name == "not-found-again")


def test_a_stale_copy_is_served_while_one_request_fetches() -> None:
    assert explained("stale").splitlines()[2:] == [
        "a copy that expired 5 s ago: served immediately, while one request fetches",
        "hit -> deliver found",
        "deliver -> deliver sent",
        "done after 2.2 ms",
        "in the background a fetch for later requests",
        "backend_fetch -> fetch the backend is asked",
        "over a connection that was open to upstage",
        "answered 200 after 0.1 ms, Cache-Control: max-age=0, s-maxage=1",
        "backend_response -> deliver its response is accepted",
        "kept for 1 s, and for another 86400 s in case the backend fails",
    ]


def test_a_backend_that_is_down() -> None:
    text = explained("stale-while-down")
    assert "a copy that expired 2 s ago" in text
    assert "failed: backend upstage: fail errno 2 (No such file or directory)" in text
    assert "answered" not in text
    assert text.endswith("backend_error -> abandon the old copy stays")


def test_a_miss_and_a_hit_of_the_running_stack(stack: Stack) -> None:
    path = f"/media/bench/tiny.html?{uuid.uuid4().hex}"
    fetched = stack.make("trace", f"URL={path}")
    assert "varnish; fwd=uri-miss; stored" in fetched
    for line in ("may be in the cache", "the backend is asked", "kept for 43200 s"):
        assert line in fetched, fetched
    assert fetched.split("backend\n")[-1].count(path) == 1, fetched
    classic = stack.make("trace", f"URL=http://classic.localhost:{stack.ports['HTTP_PORT']}{path}")
    assert "another VCL" in classic, classic
    cached = stack.make("trace", f"URL={path}")
    assert "was not asked" in cached.split("backend\n")[-1], cached


@pytest.mark.slow
def test_passes_404s_and_stale_responses(stack: Stack) -> None:
    passed = stack.make("trace", "URL=/stages/", "HEADER=Cookie: who=me")
    assert "recv -> pass" in passed, passed
    assert "not stored: it is a pass" in passed, passed
    missing = stack.make("trace", f"URL=/media/{uuid.uuid4().hex}.svg")
    assert "hit-for-miss" in missing, missing
    assert "kept for" not in missing, missing

    # A page is fresh for a second and served stale for ten more.
    page = f"/stages/demo?{uuid.uuid4().hex}"
    stored = stack.make("trace", f"URL={page}")
    assert "kept for 1 s" in stored, stored
    time.sleep(1)
    stale = stack.make("trace", f"URL={page}")
    assert "detail=stale" in stale, stale
    assert "s ago: served immediately, while one request fetches" in stale, stale
    assert stale.index("deliver -> deliver") < stale.index("in the background"), stale


def test_a_request_past_nginx_and_varnish(stack: Stack) -> None:
    path = f"/media/bench/tiny.html?{uuid.uuid4().hex}"
    straight = stack.make("trace", f"URL={stack.url(path, 'direct.localhost')}")
    assert "copied the bytes" in straight
    assert "was not asked: there is no cache on this site" in straight
    assert straight.split("backend\n")[-1].count(path) == 1, straight
    [free] = free_ports(1)
    with pytest.raises(AssertionError, match=rf"{free}, which is closed\. Type: make up EXTRAS=direct"):
        stack.make("trace", f"URL={stack.url(path, 'direct.localhost')}", f"WEB_PORT={free}")


@pytest.mark.slow
def test_a_request_that_varnish_never_sees(stack: Stack) -> None:
    """The reason, for each of them."""
    by_itself = "answered by itself: with a file from the disk, or a page of its own"
    no_cache, not_sent = "there is no cache on this site", "nginx did not send it the request"
    for url, did, why in (
        (f"http://localhost:{stack.ports['WEB_PORT']}/media/fox.svg", "copied the bytes", no_cache),
        (stack.url("/stages/demo", "nginx.localhost"), "", no_cache),
        (stack.url("/media/fox.svg", "static.localhost"), by_itself, no_cache),
        (stack.url("/media/video/unknown.jpg"), "", not_sent),
        (stack.url("/", "nobody.example"), by_itself, not_sent),
    ):
        text = stack.make("trace", f"URL={url}")
        assert f"varnish\n  was not asked: {why}\n" in text, text
        assert did in text

    # nginx's copies last until the end of the second, so another client has to ask, too. (A file that all
    # clients get alike: `make trace` and this client accept different encodings.)
    done = threading.Event()

    def ask() -> None:
        while not done.is_set():
            stack.get("/media/bench/small.swf")

    other = threading.Thread(target=ask)
    other.start()
    try:
        copied = "was not asked: nginx had a copy"
        assert wait_until(lambda: copied in stack.make("trace", "URL=/media/bench/small.swf"), within=60)
    finally:
        done.set()
        other.join()


def test_a_url_that_is_none_is_rejected(stack: Stack) -> None:
    with pytest.raises(AssertionError, match="Name the request"):
        stack.make("trace", "URL=nonsense")
