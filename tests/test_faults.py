"""What clients see while the backend is down."""

import re
import uuid

from stack import Stack

CACHED = ("localhost", "classic.localhost")


def test_cached_media_are_served_while_the_backend_is_down(stack: Stack) -> None:
    known = "/media/bench/tiny.html"
    copies = {host: stack.get(known, host) for host in CACHED}
    assert [copy.status_code for copy in copies.values()] == [200, 200]
    stack.control("stop", "backend")
    try:
        for host in CACHED:
            copy = stack.get(known, host)
            assert (copy.status_code, copy.content) == (200, copies[host].content)

            missing = stack.get(f"/stages/{uuid.uuid4().hex}", host)
            assert missing.status_code == 503
            assert missing.headers["Retry-After"] == "5"
            assert missing.headers["Cache-Control"] == "no-store"
            assert "curtain" in missing.text
            assert not re.search("nginx/|varnish|twisted", missing.text, re.I)
        assert stack.get(known, "static.localhost").status_code == 200  # nginx reads it from the disk
        assert stack.get(known, "nginx.localhost").status_code == 503
    finally:
        stack.control("start", "backend")
        stack.wait_until_ready()
