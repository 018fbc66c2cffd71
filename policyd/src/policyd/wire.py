"""The protocol, pure: one request of exactly 23 bytes, one answer, both ended by a NUL.

The rule is Adobe's: Flash Player 9.0.124 and later ask before *every* socket, same host included.
"""

from enum import StrEnum

NUL = b"\0"
REQUEST = b"<policy-file-request/>" + NUL
REQUEST_CAP = 64
"""Bytes of a request we are willing to look at; a wrong one that is longer still is `too-long`."""


class Outcome(StrEnum):
    """How a connection ended; the words of the log and of the counters."""

    SERVED = "served"
    BAD_REQUEST = "bad-request"
    TOO_LONG = "too-long"
    TIMEOUT = "timeout"
    CLOSED_EARLY = "closed-early"
    RESET = "reset"
    REFUSED_TOTAL = "refused-total"
    REFUSED_PER_ADDRESS = "refused-per-address"
    STOPPED = "stopped"
    ERROR = "error"


def judge(received: bytes) -> Outcome | None:
    """Say what the bytes received so far amount to; None while they may still become the request.

    The first wrong byte decides, so an HTTP or TLS client is sent away at once instead of holding a
    connection until the deadline. Bytes behind a complete request do not spoil it.
    """
    if received.startswith(REQUEST):
        return Outcome.SERVED
    if REQUEST.startswith(received):
        return None
    return Outcome.TOO_LONG if len(received) > REQUEST_CAP else Outcome.BAD_REQUEST
