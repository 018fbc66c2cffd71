"""Reading the backend's log."""

from logs.serverlogs import backend_lines

LOG = [
    "varnish-1  | not JSON",
    '{"time": "1970-01-01T00:01:40.500Z", "event": "request", "method": "GET", "path": "/?k1",'
    ' "status": 200, "bytes": 12, "ms": 12.5, "request_id": "ab"}',
    '{"time": "1970-01-01T00:01:41.000Z", "event": "cut off", "socket": "sock_7", "reason": "laggard",'
    ' "sent": 149865, "stage": "rehearsal"}',
    '{"time": "1970-01-01T00:01:42.000Z", "event": "cut off", "socket": "sock_8", "reason": "address",'
    ' "sent": 19}',
]


def test_requests_have_their_time() -> None:
    [line] = backend_lines(LOG)
    assert (line.method, line.url, line.seconds, line.ended) == ("GET", "/?k1", 0.0125, 100.5)
