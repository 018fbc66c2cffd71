"""The load shape `Compare`."""

from collections.abc import Iterator

import topologies
from series.recorder import recorder
from series.shape import Series, Tick


class Compare(Series):
    """The same users on one topology after the other, each measured for some seconds: the tab Compare."""

    def script(self) -> Iterator[Tick]:
        """Users leave after each topology and come again for the next one."""
        chosen = topologies.parse(self.options.topologies)
        for topology in chosen:
            yield from self.measure(topology, self.most)
            yield from self.leave()
        # An error of a whole topology is no comparison: it did not answer.
        recorder.answered = all(
            any(row.good for row in measured.run.rows) for measured in recorder.measurements
        )
