"""The load shape `Compare`."""

from argparse import Namespace
from collections.abc import Iterator

import topologies
from comparison.recorder import recorder
from comparison.shape import Series, Tick
from users import taking_part
from users.arrivals import DIFFERENCE
from users.open_model import OpenModel


class Compare(Series):
    """Measures the same users on one topology after another, each for some seconds: the tab Compare."""

    def script(self) -> Iterator[Tick]:
        """After each topology all users leave; then they come again for the next one."""
        models = self.models()
        for number, topology in enumerate(topologies.parse(self.options.topologies)):
            for arrivals in models:
                if number or arrivals != models[0]:
                    yield from self.leave()
                self.options.arrivals = arrivals
                processes = getattr(self.runner, "worker_count", 1)
                yield from self.measure(topology, processes if arrivals else self.most)
                if arrivals:
                    recorder.outcome = DIFFERENCE
        # A topology that did not answer is not compared.
        recorder.answered = all(measured.answered for measured in recorder.measurements)

    def models(self) -> list[float]:
        """Return the arrivals per second of each measurement; 0 for one of users who wait for responses.

        The measurement of waiting users is left out if none of their classes is chosen.
        """
        if not self.options.arrivals:
            return [0.0]
        waiting = Namespace(**{**vars(self.options), "arrivals": 0.0})
        visitors = [user for user in self.environment.user_classes if not issubclass(user, OpenModel)]
        refused = taking_part.refusal(visitors, waiting)
        return [*([] if refused else [0.0]), self.options.arrivals]
