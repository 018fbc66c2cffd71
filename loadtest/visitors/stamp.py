"""The stamp at the end of a visitor's line, by which whoever hears it knows how long it was under way.

    Bravo! at-7f3a09-c41e77-12-1795681091.123456

That is run, speaker, the how manyth of this speaker's lines, and the speaker's clock in seconds since 1970.
It reads as chat, it needs no escaping in a frame, and every listener of the same run can read it, also in
another process, or on another machine as far as the clocks agree.
"""

import re
import secrets
import time
from dataclasses import dataclass

# The wall clock as it was when this process started, moved on by the clock that nobody sets. Processes
# that Locust forks share it.
_START = time.time() - time.monotonic()
_STAMP = re.compile(rb"at-([0-9a-z]+)-([0-9a-f]{6})-([0-9]+)-([0-9]+\.[0-9]{6})(?![0-9])")
SKEW = 0.05  # seconds by which clocks may differ before a line seems to come from the future


def wall() -> float:
    """Seconds since 1970, never set back while this process lives."""
    return _START + time.monotonic()


def run_name(text: str) -> str:
    """Check the name of a run: it must fit into a stamp. ValueError if it does not."""
    if not re.fullmatch("[0-9a-z]*", text):
        raise ValueError("only small letters and digits")
    return text


def token() -> str:
    """A name nobody else has: six hexadecimal digits."""
    return secrets.token_hex(3)


@dataclass(frozen=True)
class Stamp:
    """What a stamp says; `said` is in seconds since 1970."""

    run: str
    speaker: str
    number: int
    said: float

    def __str__(self) -> str:
        """As it stands in a line."""
        return f"at-{self.run}-{self.speaker}-{self.number}-{self.said:.6f}"


def find(frame: bytes) -> Stamp | None:
    """The stamp in a frame as it came over the wire, None if there is none."""
    if (found := _STAMP.search(frame)) is None:
        return None
    run, speaker, number, said = found.groups()
    return Stamp(run.decode(), speaker.decode(), int(number), float(said))


class Ear:
    """What one listener has heard of one run: how old each line was, and whether one is missing."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._latest: dict[str, int] = {}  # speaker -> number

    def hear(self, stamp: Stamp, now: float) -> tuple[float, str | None] | None:
        """Milliseconds since the line was said, and what is wrong; None if it belongs to another run.

        Lines of one speaker come in the order in which they were said, so a gap is a lost line.
        """
        if stamp.run != self._run:
            return None
        expected = self._latest.get(stamp.speaker, stamp.number - 1) + 1
        self._latest[stamp.speaker] = stamp.number
        delay = now - stamp.said
        if delay < -SKEW:
            return 0.0, "heard before it was said: the clocks of the load generators differ"
        fault = None if stamp.number == expected else "a line before this one was lost, or came twice"
        return max(0.0, delay * 1000), fault
