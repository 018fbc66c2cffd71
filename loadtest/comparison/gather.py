"""Gets all that the workers have counted to the master, now rather than at their next report.

So a measurement begins and ends for all processes at one moment. Without workers there is nothing to do.
Messages of one worker arrive in the order in which they were sent, so nothing older follows its reply.
https://docs.locust.io/en/stable/running-distributed.html#communicating-across-nodes
"""

import logging
import time
from typing import Any

import gevent
from locust.env import Environment
from locust.rpc.protocol import Message
from locust.runners import STATE_MISSING, MasterRunner, Runner, WorkerRunner

ASK, REPLY = "proscenium_gather", "proscenium_gathered"
PATIENCE = 5.0  # seconds; each worker sends a report every three seconds anyway

log = logging.getLogger(__name__)
waiting: set[str] = set()  # workers that have not replied yet


def register(environment: Environment) -> None:
    """Register, on a worker, the reply to ASK, and on the master, the receipt of replies."""
    runner = environment.runner
    if isinstance(runner, WorkerRunner):
        runner.register_message(ASK, reply)
    elif isinstance(runner, MasterRunner):
        runner.register_message(REPLY, receive)


def gather(runner: Runner) -> None:
    """Wait until every worker has sent its counts, and counts from 0; after PATIENCE, log which have not."""
    if not isinstance(runner, MasterRunner):
        return
    waiting.clear()
    waiting.update(worker.id for worker in runner.clients.all if worker.state != STATE_MISSING)
    runner.send_message(ASK)
    end = time.monotonic() + PATIENCE
    while waiting and time.monotonic() < end:
        gevent.sleep(0.01)
    if waiting:
        log.warning("No figures from the workers %s", ", ".join(sorted(waiting)))


def reply(environment: Environment, msg: Message, **_: Any) -> None:
    """On a worker, send the same figures as in a report, and count from 0."""
    runner = environment.runner
    assert isinstance(runner, WorkerRunner)
    data: dict[str, Any] = {}
    environment.events.report_to_master.fire(client_id=runner.client_id, data=data)
    environment.events.reset_stats.fire()
    runner.send_message(REPLY, data)


def receive(environment: Environment, msg: Message, **_: Any) -> None:
    """On the master, add the figures as if from a report."""
    environment.events.worker_report.fire(client_id=msg.node_id, data=msg.data)
    waiting.discard(msg.node_id)
