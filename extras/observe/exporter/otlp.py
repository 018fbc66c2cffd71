"""Sends traces to an OpenTelemetry collector, over HTTP.

The SDK keeps up to 2,000 spans while the collector does not answer, and drops all further ones.
https://opentelemetry.io/docs/specs/otlp/#otlphttp
"""

import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from email.utils import parsedate_to_datetime
from threading import Event
from typing import Any

import requests
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags
from prometheus_client.metrics_core import CounterMetricFamily, Metric

from logs.spans import Span

from .traces import Trace

QUEUE = 2000  # spans
LONGEST = 3600.0  # the longest Retry-After of a collector that is obeyed, in seconds


class Sender:
    """Sends a trace if it was chosen at random, has failed, or took `slow` seconds; counts the spans that
    were sent, and those that were not.

    `headers`: NAME=VALUE, separated by commas, such as a token that the collector requires.
    """

    def __init__(self, collector: str, project: str, slow: float, headers: str = "") -> None:
        self._project = project
        self._slow = slow
        self._exporter = Exporter(endpoint(collector), dict(pairs(headers)))
        self._processor = BatchSpanProcessor(self._exporter, max_queue_size=QUEUE, schedule_delay_millis=1000)

    def __call__(self, trace: Trace) -> None:
        line, seconds = trace.line, trace.root.ended - trace.root.began
        if line.flags == "01" or line.traced == "failed" or (line.traced == "slow" and seconds >= self._slow):
            for span in spans(trace, self._project):
                self._processor.on_end(span)

    def read(self) -> list[Metric]:
        """Return the numbers of spans that the collector has accepted, or has not, by its response."""
        family = CounterMetricFamily("traces_spans", "Spans for the collector", labels=("outcome", "status"))
        for (outcome, status), count in self._exporter.outcomes.copy().items():
            family.add_metric((outcome, status), count)
        return [family]


class Exporter(OTLPSpanExporter):
    """Counts spans by outcome and by the collector's last response."""

    def __init__(self, endpoint: str, headers: Mapping[str, str]) -> None:
        self._asked = Patient()
        self.outcomes: Counter[tuple[str, str]] = Counter()
        super().__init__(endpoint, headers=headers, timeout=5, session=self._asked)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self._asked.said = "no answer"
        result = super().export(spans)
        outcome = "sent" if result is SpanExportResult.SUCCESS else "refused"
        self.outcomes[outcome, self._asked.said] += len(spans)
        return result

    def shutdown(self) -> None:
        self._asked.stopped.set()
        super().shutdown()  # type: ignore[no-untyped-call]


class Patient(requests.Session):
    """Sends nothing before the time in the collector's last Retry-After."""

    def __init__(self) -> None:
        super().__init__()
        self.said = ""
        self.stopped = Event()
        self._not_before = 0.0

    def send(self, request: requests.PreparedRequest, **options: Any) -> requests.Response:
        if (wait := self._not_before - time.monotonic()) > 0:
            self.stopped.wait(wait)
        response = super().send(request, **options)
        self.said = str(response.status_code)
        self._not_before = time.monotonic() + retry_after(response.headers.get("Retry-After", ""))
        return response


def retry_after(text: str) -> float:
    """Return the seconds in a number or a date; 0 if the text is neither."""
    try:
        seconds = float(text) if text.isdigit() else parsedate_to_datetime(text).timestamp() - time.time()
    except ValueError:
        return 0.0
    return min(max(seconds, 0.0), LONGEST)


def endpoint(collector: str) -> str:
    """Return the URL at which the collector receives traces."""
    return f"{collector.rstrip('/').removesuffix('/v1/traces')}/v1/traces"


def from_a_container(collector: str) -> str:
    """Return the collector's URL for the exporter, whose `localhost` is its own container."""
    return re.sub(r"://(localhost|127\.[0-9.]+)(?=[:/]|$)", "://host.docker.internal", collector)


def pairs(headers: str) -> Iterator[tuple[str, str]]:
    """Yield the names and values in OTLP_HEADERS."""
    for each in filter(None, headers.split(",")):
        name, _, value = each.partition("=")
        yield name.strip(), value.strip()


def spans(trace: Trace, project: str) -> list[ReadableSpan]:
    """Return a trace's spans as spans of the SDK; the resource of each is its service."""
    made: list[ReadableSpan] = []

    def context(id: str, is_remote: bool = False) -> SpanContext:
        return SpanContext(int(trace.line.id, 16), int(id, 16), is_remote, TraceFlags(TraceFlags.SAMPLED))

    def make(span: Span, parent: SpanContext | None) -> None:
        own = context(span.id)
        kind = SpanKind.SERVER if span.facts else SpanKind.INTERNAL
        follows = {"opentracing.ref_type": "follows_from"}
        made.append(
            ReadableSpan(
                name=span.name,
                context=own,
                parent=parent,
                resource=Resource({"service.name": span.service, "service.namespace": project}),
                attributes=span.facts,
                links=[Link(parent, follows)] if parent and span.behind else [],
                kind=SpanKind.CLIENT if span.name.startswith("fetch") else kind,
                status=Status(StatusCode.ERROR if span.failed else StatusCode.UNSET),
                start_time=round(span.began * 1e9),
                end_time=round(span.ended * 1e9),
            )
        )
        for each in span.spans:
            make(each, own)

    make(trace.root, context(trace.line.parent, is_remote=True) if trace.line.parent else None)
    return made
