"""A Flash player of the time: it asks for the policy before it may open its socket."""

import time
from argparse import Namespace

from locust import User, between, task

from visitors import verdict
from visitors.line import LineError, SocketLine
from visitors.samples import Samples
from visitors.seat import PATIENCE, Seat
from visitors.visitor import address, sit

REQUEST = b"<policy-file-request/>"


class FlashClient(User):
    """Policy, then a seat over the raw socket, without the page around it."""

    weight = 2
    wait_time = between(1, 3)

    @task
    def visit(self) -> None:
        """Ask, then go in; without leave to connect Flash does not."""
        assert self.environment.parsed_options
        options: Namespace = self.environment.parsed_options
        host = address(self)
        try:
            with Samples(self.environment, "policy").timed("policy"):
                ask(host, options.policy_port, options.topology)
        except LineError:
            return
        seat = Seat(Samples(self.environment, "stage"), options, lambda: SocketLine(host, options.stage_port))
        sit(seat, "undefined", 20)


def ask(host: str, port: int, site: str) -> None:
    """Fetch the policy; LineError if it does not let a page of `site` connect to the stage."""
    line = SocketLine(host, port)
    try:
        line.send(REQUEST)
        policy = line.receive(time.monotonic() + PATIENCE)
    finally:
        line.close()
    if policy is None:
        raise LineError(f"no policy within {PATIENCE:g} s")
    if fault := verdict.policy_fault(policy, site):
        raise LineError(fault)
