"""The load shape `Compare`."""

from collections.abc import Iterator

import topologies
from comparison.recorder import recorder
from comparison.shape import Series, Tick


class Compare(Series):
    """Measures the same users on one topology after another, each for some seconds: the tab Compare."""

    def script(self) -> Iterator[Tick]:
        """Users leave after each topology and come again for the next one."""
        for number, topology in enumerate(topologies.parse(self.options.topologies)):
            if number:
                yield from self.leave()
            yield from self.measure(topology, self.most)
        # A topology that did not answer is not compared.
        recorder.answered = all(measured.answered for measured in recorder.measurements)
