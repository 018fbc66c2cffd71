"""The load shape `Capacity`."""

import time
from collections.abc import Iterator

import topologies
from comparison.measurement import Measurement
from comparison.recorder import recorder
from comparison.shape import Series, Tick
from users.session import PATIENCE

FIRST = 16  # the first level is a sixteenth of the form's number of users; the last one is that number
CLOSE = 0.1  # the result is exact to a tenth
LONGEST = 1800.0  # seconds, if the form has no run time


class Capacity(Series):
    """Doubles the users until a threshold fails, then steps back, and reports how many users the topology
    carries."""

    def script(self) -> Iterator[Tick]:
        """Climb to the first level that fails, then halve the distance to the last level that passed."""
        self.options.arrivals = 0.0  # without arrivals: the shape looks for a number of users
        end = time.monotonic() + min(self.options.run_time or LONGEST, LONGEST)
        topology, most = self.options.topology, self.most
        carried, failing = 0, None
        warm_up = 0.0
        users = max(1, most // FIRST)
        while users and time.monotonic() < end:
            yield from self.measure(topology, users, warm_up)
            if self.latest.carried:
                carried, warm_up = users, 0.0
            else:
                # Requests begun at this level may fail for PATIENCE seconds; the next level is not to blame.
                failing, warm_up = self.latest, PATIENCE
            recorder.outcome = outcome(topologies.name(topology), carried, failing)
            recorder.answered = carried > 0 and not (failing and failing.limited)
            users = next_level(carried, failing.users if failing else None, most)


def next_level(carried: int, failing: int | None, most: int) -> int:
    """Return the number of users to try next; 0 if all are carried, or if the result is close enough."""
    if failing is None:
        return min(2 * carried, most) if carried < most else 0
    return (carried + failing) // 2 if failing - carried > max(1, CLOSE * failing) else 0


def outcome(name: str, carried: int, failing: Measurement | None) -> str:
    """Return the result as text: `default carries 40 visitors. At 50: ...`."""
    if failing is None:
        return f"{name} carries at least {carried} visitors."
    number = f"{carried}" if carried else f"fewer than {failing.users}"
    if failing.limited:
        number = f"at least {carried}"
    return f"{name} carries {number} visitors. At {failing.users}: {failing.reason}"
