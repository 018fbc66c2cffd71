"""Forty hostile stage clients, through the whole stack: chat stays quick for the others."""

import multiprocessing
import statistics
import time

import pytest

from stack import Stack
from support.hostile import attackers

SECONDS = 3


def chat_seconds(stack: Stack) -> float:
    """Two clients chat, 40 lines a second; return the median until a line is at the other one."""
    talker, listener = stack.web_stage_client(), stack.web_stage_client()
    for client in (talker, listener):
        client.join()
    took = []
    for number in range(40 * SECONDS):
        began = time.perf_counter()
        talker.send("TEXT", msg=f"normal-{number}")
        while listener.until("ANONTEXT")[-1]["text"] != f"normal-{number}":
            pass
        took.append(time.perf_counter() - began)
        if number % 10 == 0:
            assert stack.get("/health").status_code == 200
        time.sleep(max(0.0, 0.025 - took[-1]))
    for client in (talker, listener):
        client.close()
    return statistics.median(took)


@pytest.mark.slow  # backend/tests/test_hostile_budget.py has the same clients without the proxies
@pytest.mark.parametrize("kind", ["fragment1", "ping0", "nul-only", "join"])
def test_forty_hostile_clients_do_not_stop_the_stage(stack: Stack, kind: str) -> None:
    quiet = chat_seconds(stack)
    ports = {"web": stack.ports["HTTP_PORT"], "stage": stack.ports["SWF_PORT"]}
    process = multiprocessing.get_context("spawn").Process(
        target=attackers, args=(kind, 40, SECONDS + 60, ports), daemon=True
    )
    process.start()
    time.sleep(0.5)
    try:
        # Without a budget for each client it took seconds; the margin is for busy machines.
        assert chat_seconds(stack) < quiet + 0.25
    finally:
        process.kill()
        process.join()
