import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
# The first as Locust does for a locustfile, the second for the tiny server.
sys.path[:0] = [str(HERE.parent), str(HERE)]

from tiny_front import Front, Server, handler  # noqa: E402


@pytest.fixture
def front() -> Iterator[Front]:
    front = Front()
    server = Server(("127.0.0.1", 0), handler(front))
    front.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield front
    server.shutdown()
    server.server_close()
    thread.join()
