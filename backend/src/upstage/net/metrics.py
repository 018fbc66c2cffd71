"""/metrics for Prometheus, on a listener that only the back network reaches, and that takes purges, too.

Existing counters are read at each scrape. Only durations are measured as they happen: those of a frame with
its fan-out, of HTTP requests (from the log's events), and the reactor's delay.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from prometheus_client import CollectorRegistry, Histogram, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from twisted.application.service import Service
from twisted.internet.task import LoopingCall
from twisted.logger import ILogObserver, LogEvent, globalLogPublisher
from twisted.web import server
from twisted.web.http import Request
from twisted.web.resource import Resource
from zope.interface import implementer

from upstage.net.connection import Connections
from upstage.net.purge import PurgePage, Purger
from upstage.stage.stage import Member
from upstage.stage.stages import Stages

# Path prefixes; the first match counts. The list is fixed, so that requests cannot create new label values.
CLASSES = (
    ("webcam", "/media/video/"),
    ("media", "/media/"),
    ("speech", "/speech/"),
    ("asset", "/style/"),
    ("asset", "/script/"),
    ("asset", "/image/"),
    ("admin", "/admin"),
    ("stage", "/stages/"),
    ("websocket", "/ws"),
)
LAG_INTERVAL = 0.25  # seconds between two measurements of the reactor's delay
FAST = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0)
# Up to 30 s, because requests for speech and webcam pictures wait.
SLOW = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 30.0)
IGNORED = ("empty_frames", "unknown_modes", "bad_frames", "overlong_frames")


class MeasuredStages(Stages):
    """Stages that measure how long a frame takes, its fan-out included."""

    measure: Callable[[float], None] = staticmethod(lambda seconds: None)

    def receive(self, member: Member, frame: bytes) -> None:
        began = time.perf_counter()
        super().receive(member, frame)
        self.measure(time.perf_counter() - began)


@dataclass(frozen=True)
class Sources:
    """The sources of the values, read at each scrape."""

    connections: Connections
    queues: Mapping[str, Callable[[], int]]  # entries that wait, by queue
    long_polls: Mapping[str, Callable[[], int]]  # requests that wait, by resource
    outcomes: Mapping[str, Counter[str]]  # of chat lines, speech, webcam pictures


class ServerCollector(Collector):
    """The values that are read at each scrape, not measured."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    def collect(self) -> Iterable[Metric]:
        connections = self._sources.connections
        counts = connections.stages.counts
        clients_now = list(connections.all)
        clients = Counter((one.kind, one.role) for one in clients_now)
        family = GaugeMetricFamily("upstage_clients", "Clients connected", labels=("transport", "role"))
        for transport in ("tcp", "websocket"):
            for role in ("player", "audience", "unjoined"):
                family.add_metric((transport, role), clients[transport, role])
        yield family
        behind = [client.unread for client in clients_now if client.unread]
        yield GaugeMetricFamily("upstage_clients_behind", "Clients that read too slowly", len(behind))
        yield GaugeMetricFamily(
            "upstage_unread_bytes", "Bytes sent to them since they fell behind", sum(behind)
        )
        yield CounterMetricFamily("upstage_frames_received", "Frames acted on", counts["frames"])
        yield CounterMetricFamily(
            "upstage_frames_sent", "Frames sent, once for each client", counts["frames_sent"]
        )
        yield labelled(
            CounterMetricFamily("upstage_frames_ignored", "Frames dropped", labels=("reason",)),
            {name.removesuffix("_frames"): counts[name] for name in IGNORED},
        )
        cut = {name.removeprefix("cut_"): n for name, n in counts.items() if name.startswith("cut_")}
        yield labelled(
            CounterMetricFamily("upstage_clients_cut", "Clients cut off", labels=("reason",)),
            {"laggard": 0} | cut,
        )
        yield CounterMetricFamily(
            "upstage_clients_throttled", "Times that reading from a client was paused", counts["throttled"]
        )
        for name, outcomes in self._sources.outcomes.items():
            family_of = CounterMetricFamily(f"upstage_{name}", f"Outcomes of {name}", labels=("outcome",))
            yield labelled(family_of, outcomes)
        yield labelled(
            GaugeMetricFamily("upstage_queue_length", "Entries waiting", labels=("queue",)),
            {name: length() for name, length in self._sources.queues.items()},
        )
        yield labelled(
            GaugeMetricFamily("upstage_long_polls", "Requests waiting for their response", labels=("for",)),
            {name: length() for name, length in self._sources.long_polls.items()},
        )


def labelled(
    family: GaugeMetricFamily | CounterMetricFamily, values: Mapping[str, float]
) -> GaugeMetricFamily | CounterMetricFamily:
    """Add each value to a family, under the value of its one label; return the family."""
    for label, value in values.items():
        family.add_metric([label], value)
    return family


@implementer(ILogObserver)
class Metrics(Service):
    """The registry of one server, and the measurements while the service runs."""

    def __init__(self, sources: Sources, stages: MeasuredStages, reactor: Any) -> None:
        self.registry = CollectorRegistry()
        self.registry.register(ServerCollector(sources))
        ProcessCollector(registry=self.registry)  # memory, CPU, open files
        frames = Histogram(
            "upstage_frame_seconds",
            "From a frame's arrival until it has been sent to all",
            buckets=FAST,
            registry=self.registry,
        )
        stages.measure = frames.observe
        self._requests = Histogram(
            "upstage_http_request_seconds",
            "From a request's header to the end of its response",
            ("path", "status"),
            buckets=SLOW,
            registry=self.registry,
        )
        self._lag = Histogram(
            "upstage_reactor_lag_seconds",
            "Delay of the reactor's timed calls",
            buckets=FAST,
            registry=self.registry,
        )
        self._reactor = reactor
        self._loop = LoopingCall(self._measure_lag)
        self._loop.clock = reactor
        self._due = 0.0

    def startService(self) -> None:
        super().startService()
        globalLogPublisher.addObserver(self)
        self._due = self._reactor.seconds() + LAG_INTERVAL
        self._loop.start(LAG_INTERVAL, now=False)

    def stopService(self) -> None:
        super().stopService()
        globalLogPublisher.removeObserver(self)
        self._loop.stop()

    def __call__(self, event: LogEvent) -> None:
        """Take the duration of a request from its log event."""
        if event.get("log_format") == "request":
            fields = event["fields"]
            labels = class_of(fields["path"]), str(fields["status"])
            self._requests.labels(*labels).observe(fields["ms"] / 1000)

    def _measure_lag(self) -> None:
        now = self._reactor.seconds()
        self._lag.observe(max(now - self._due, 0.0))
        # LoopingCall keeps its schedule and skips missed calls.
        self._due += LAG_INTERVAL * (1 + max(now - self._due, 0.0) // LAG_INTERVAL)


def class_of(path: str) -> str:
    """Return the first of CLASSES with which a path begins, `page` if there is none."""
    return next((name for name, start in CLASSES if path.startswith(start)), "page")


class MetricsPage(Resource):
    """`/metrics` in Prometheus' text format."""

    isLeaf = True

    def __init__(self, registry: CollectorRegistry) -> None:
        super().__init__()
        self._registry = registry

    def render_GET(self, request: Request) -> bytes:
        request.setHeader(b"content-type", CONTENT_TYPE_LATEST.encode())
        return generate_latest(self._registry)


class MetricsSite(server.Site):
    """The listener on the back network: `/metrics`, and PURGE."""

    def __init__(self, registry: CollectorRegistry, purger: Purger) -> None:
        root = PurgePage(purger)
        root.putChild(b"metrics", MetricsPage(registry))
        super().__init__(root)

    def log(self, request: Request) -> None:
        """Log nothing: Prometheus scrapes every few seconds."""
