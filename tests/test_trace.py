"""`make trace` on the running stack, in either mode. (A hit, and a hand-over to another VCL: logs/tests.)"""

import uuid

from tests.stack import Stack


def test_a_request_is_followed_through_the_three_logs(stack: Stack) -> None:
    path = f"/media/bench/tiny.html?{uuid.uuid4().hex}"
    fetched = stack.make("trace", f"URL={path}")
    assert "varnish; fwd=uri-miss; stored" in fetched
    for line in ("nginx GET", "varnish miss", "no usable copy", "varnish fetch", "kept for 43200 s"):
        assert line in fetched, fetched
    assert fetched.count("backend page") == 1, fetched
