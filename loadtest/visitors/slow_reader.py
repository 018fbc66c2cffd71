"""Somebody whose line is stuck: he joins, asks for much, and takes nothing of it."""

import time
from argparse import Namespace

from gevent import sleep
from locust import User, between, task

from visitors.line import LineError, SocketLine
from visitors.samples import Samples
from visitors.seat import PATIENCE
from visitors.visitor import address

VISIT = 600  # seconds; the stage cuts off who is stuck from one heartbeat, 45 s, to the next
BUFFER = 4096  # bytes the kernel takes on his behalf
# Credits asked for each second: as many as the stage takes from one client. The answers must first fill what
# the kernel in front of the stage keeps for him, 4 MB on Linux, so he is stuck only after some minutes.
QUESTIONS = 50


class SlowReader(User):
    """The stage must cut him off, and nobody else may notice. That he is cut off is no failure."""

    weight = 1
    wait_time = between(1, 3)

    @task
    def visit(self) -> None:
        """Join and read nothing; only that he gets in at all is reported."""
        assert self.environment.parsed_options
        options: Namespace = self.environment.parsed_options
        try:
            with Samples(self.environment, "stage").timed("connect"):
                line = SocketLine(address(self), options.stage_port, receive_buffer=BUFFER)
                line.receive(time.monotonic() + PATIENCE)  # SET, which everybody waits for in this row
        except LineError:
            return
        try:
            line.send(f"stage_ID={options.stage}&mode=JOIN".encode())
            for _ in range(VISIT):
                for _ in range(QUESTIONS):
                    line.send(b"mode=INFO")
                sleep(1)
        except LineError:
            pass  # cut off, or no longer listened to: as it should be
        finally:
            line.close()
