import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

HERE = Path(__file__).parent
# The first as Locust does for a locustfile, the second for the tiny server.
sys.path[:0] = [str(HERE.parent), str(HERE)]

# A busy machine is no fault of what is tested.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

import tiny_stage  # noqa: E402
from tiny_front import Front, Server, handler  # noqa: E402


@pytest.fixture
def front() -> Iterator[Front]:
    front = Front()
    web = Server(("127.0.0.1", 0), handler(front))
    stage = tiny_stage.Server(("127.0.0.1", 0), tiny_stage.raw_handler(front.stage))
    policy = tiny_stage.Server(("127.0.0.1", 0), tiny_stage.policy_handler(front.stage))
    front.address = f"http://127.0.0.1:{web.server_address[1]}"
    front.stage.port, front.stage.policy_port = stage.server_address[1], policy.server_address[1]
    threads = []
    for server in (web, stage, policy):
        threads.append(threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}))
        threads[-1].start()
    yield front
    for server in (web, stage, policy):
        server.shutdown()
        server.server_close()
    for thread in threads:
        thread.join()
