"""The Flash policy on the published port, through nginx. (All hostile clients: policyd/tests.)"""

import socket
import subprocess
import sys
import time

import pytest

from stack import REPO, Stack

QUESTION = b"<policy-file-request/>\0"
DEADLINE = 5.0  # policyd's default, in seconds


def ask(stack: Stack, *packets: bytes) -> bytes:
    """Send packets, half a second apart; everything received until the server closes."""
    received = b""
    with socket.create_connection(("127.0.0.1", stack.ports["POLICY_FILE_PORT"]), timeout=20) as client:
        for packet in packets:
            client.sendall(packet)
            time.sleep(0.5)
        client.shutdown(socket.SHUT_WR)
        while data := client.recv(4096):
            received += data
    return received


@pytest.mark.smoke
def test_the_shipped_client_accepts_the_shipped_policy(stack: Stack) -> None:
    port = str(stack.ports["POLICY_FILE_PORT"])
    done = subprocess.run(
        [sys.executable, "-m", "policyd", "check", "127.0.0.1", port],
        env={"PYTHONPATH": str(REPO / "policyd" / "src")},
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert done.returncode == 0, done.stderr
    assert 'to-ports="7230"' in done.stdout


def test_a_request_in_two_packets_and_a_half_closed_connection_are_answered(stack: Stack) -> None:
    assert ask(stack, QUESTION[:9], QUESTION[9:]).endswith(b"\0")


@pytest.mark.slow  # policyd/tests/test_table.py proves it without a stack
def test_silent_clients_are_closed_and_others_do_not_wait_for_them(stack: Stack) -> None:
    address = ("127.0.0.1", stack.ports["POLICY_FILE_PORT"])
    opened = time.monotonic()
    silent = [socket.create_connection(address, timeout=DEADLINE + 5) for _ in range(60)]
    assert b"</cross-domain-policy>" in ask(stack, QUESTION)
    assert time.monotonic() - opened < DEADLINE
    for client in silent:
        assert client.recv(4096) == b""
        client.close()
