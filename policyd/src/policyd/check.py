"""The check: requests a policy as Flash does, and accepts only a perfect answer."""

import socket
import time

from policyd.policy import MAX_BYTES, NUL, REQUEST, PolicyError, parse

CLOSE_PATIENCE = 1.0
"""Seconds to wait after the NUL for more bytes or the close; a server may leave the close to Flash."""


class CheckError(Exception):
    """A Flash client would not receive the policy, or not understand it; the text says why."""


def check(host: str, port: int, timeout: float) -> str:
    """Fetch and validate the policy of a server within `timeout` seconds. Raises `CheckError`."""
    where = f"{host}:{port}"
    deadline = time.monotonic() + timeout
    try:
        with socket.create_connection((host, port), timeout) as sock:
            sock.sendall(REQUEST)
            answer, closed = _read(sock, deadline)
    except TimeoutError:
        raise CheckError(f"{where}: no connection within {timeout:g} s") from None
    except ConnectionResetError:
        raise CheckError(f"{where}: connection reset; a real client may lose the answer") from None
    except OSError as problem:
        raise CheckError(f"{where}: {problem.strerror or problem}") from None
    if NUL not in answer:
        end = "closed" if closed else f"gave up after {timeout:g} s"
        raise CheckError(f"{where}: {end}, {len(answer)} bytes and no NUL; Flash would refuse it")
    return _validated(answer, where)


def _read(sock: socket.socket, deadline: float) -> tuple[bytes, bool]:
    """Read until the close (then True), the deadline or more bytes than a policy can have."""
    answer = b""
    while len(answer) <= MAX_BYTES + 1 and (remaining := deadline - time.monotonic()) > 0:
        sock.settimeout(remaining)
        try:
            packet = sock.recv(4096)
        except TimeoutError:
            break
        if not packet:
            return answer, True
        if NUL in packet:
            deadline = min(deadline, time.monotonic() + CLOSE_PATIENCE)
        answer += packet
    return answer, False


def _validated(answer: bytes, where: str) -> str:
    text, _, rest = answer.partition(NUL)
    if rest:
        raise CheckError(f"{where}: {len(rest)} bytes after the NUL")
    try:
        parse(text, where)
    except PolicyError as problem:
        raise CheckError(f"policy from {problem}") from None
    return text.decode()
