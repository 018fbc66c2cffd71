"""A stalled client: joins, keeps requesting data and never reads the replies."""

import time
from argparse import Namespace

from gevent import sleep
from locust import User

import topologies
from users.connection import SocketConnection, StageError
from users.samples import Samples
from users.session import PATIENCE
from users.visitor import address

VISIT = 600  # seconds; the stage cuts a stalled client off between one heartbeat (45 s) and the next
BUFFER = 4096  # bytes that the kernel accepts for this client
# INFO requests per second: as many as the stage accepts from one client. The replies fill the buffers in
# front of the stage, about 100 kB; then the stage stops reading requests, and counts this client's bytes.
REQUESTS = 50


def visit(user: User) -> None:
    """Join and read nothing. Only the row `connect` is reported: being disconnected is the expected end."""
    assert user.environment.parsed_options
    options: Namespace = user.environment.parsed_options
    try:
        with Samples(user.environment, "stage").timed("connect"):
            port = topologies.stage_port(options.topology, options.stage_port)
            connection = SocketConnection(address(user), port, receive_buffer=BUFFER)
            connection.receive(time.monotonic() + PATIENCE)  # the row ends with SET, as for every class
    except StageError:
        return
    try:
        connection.send(f"stage_ID={options.stage}&mode=JOIN".encode())
        for _ in range(VISIT):
            for _ in range(REQUESTS):
                connection.send(b"mode=INFO")
            sleep(1)
    except StageError:
        pass  # expected: it was cut off, or its requests are no longer read
    finally:
        connection.close()
