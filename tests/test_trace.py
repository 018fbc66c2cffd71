"""`make trace` on the running stack, in either mode."""

import uuid

from tests.stack import Stack


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
