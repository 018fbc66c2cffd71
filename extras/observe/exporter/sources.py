"""The sources of metrics: if one is absent or sends nonsense, the others still work."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector


class Sources(Collector):
    """Reads each source by its function; an exception means that the source, or a part of it, is down."""

    def __init__(self, sources: Mapping[str, Callable[[], Iterable[Metric]]]) -> None:
        self._sources = sources
        self._reason: dict[str, str] = {}  # the reason, for each source that is down

    def collect(self) -> Iterator[Metric]:
        """Yield all present metrics of the sources, and which of them are up."""
        up = GaugeMetricFamily("observe_source_up", "1: this source has current figures", labels=["source"])
        for name, read in self._sources.items():
            reason = ""
            try:
                yield from read()
            except Exception as error:  # a source may send anything
                reason = f"{type(error).__name__}: {error}"
            up.add_metric([name], float(not reason))
            self._report(name, reason)
        yield up

    def _report(self, name: str, reason: str) -> None:
        """Write a line to the log when a source goes down or comes back, not at every scrape."""
        if bool(reason) != (name in self._reason):
            print(f"{name} is down: {reason}" if reason else f"{name} is up", file=sys.stderr, flush=True)
        if reason:
            self._reason[name] = reason
        else:
            self._reason.pop(name, None)
