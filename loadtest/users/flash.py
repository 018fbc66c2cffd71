"""A Flash player: it must request the socket policy before it opens its socket."""

import time
from argparse import Namespace

from locust import User

import topologies
from users import checks
from users.connection import SocketConnection, StageError
from users.samples import Samples
from users.session import PATIENCE, StageSession
from users.visitor import address, attend

REQUEST = b"<policy-file-request/>"


def visit(user: User, seconds: float) -> None:
    """Fetch the policy; if it allows the stage, join as audience for that many seconds."""
    assert user.environment.parsed_options
    options: Namespace = user.environment.parsed_options
    host = address(user)
    try:
        with Samples(user.environment, "policy").timed("policy"):
            require_permission(host, options.policy_port, options.topology)
    except StageError:
        return
    samples = Samples(user.environment, "stage")
    port = topologies.stage_port(options.topology, options.stage_port)
    session = StageSession(samples, options, lambda: SocketConnection(host, port))
    attend(session, "undefined", seconds)


def require_permission(host: str, port: int, site: str) -> None:
    """Fetch the policy; raise StageError unless it lets a page of `site` connect to the stage."""
    connection = SocketConnection(host, port)
    try:
        connection.send(REQUEST)
        policy = connection.receive(time.monotonic() + PATIENCE)
    finally:
        connection.close()
    if policy is None:
        raise StageError(f"no policy within {PATIENCE:g} s")
    if fault := checks.policy_fault(policy, site):
        raise StageError(fault)
