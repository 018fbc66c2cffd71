"""Sends traces to a collector of OpenTelemetry, over HTTP.

The SDK keeps up to 2,000 spans while the collector does not answer, and drops further ones.
https://opentelemetry.io/docs/specs/otlp/#otlphttp
"""

from collections.abc import Callable

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from logs.spans import Span

from .traces import Trace

QUEUE = 2000  # spans


def sender(collector: str, project: str, slow: float) -> Callable[[Trace], None]:
    """The function that sends a trace if it was drawn, has failed, or took `slow` seconds."""
    exporter = OTLPSpanExporter(f"{collector.rstrip('/').removesuffix('/v1/traces')}/v1/traces", timeout=5)
    processor = BatchSpanProcessor(exporter, max_queue_size=QUEUE, schedule_delay_millis=1000)

    def send(trace: Trace) -> None:
        line, seconds = trace.line, trace.root.ended - trace.root.began
        if line.flags == "01" or line.traced == "failed" or (line.traced == "slow" and seconds >= slow):
            for span in spans(trace, project):
                processor.on_end(span)

    return send


def spans(trace: Trace, project: str) -> list[ReadableSpan]:
    """The spans of a trace as the SDK's, the resource of each being its service."""
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
