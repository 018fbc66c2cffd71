"""A collector of OpenTelemetry, for tests: it takes OTLP over HTTP and keeps the spans."""

from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.support.origin import Origin, response


class Collector(Origin):
    """The collector. `everywhere`: containers reach it, too."""

    def __init__(self, everywhere: bool = False) -> None:
        super().__init__("collector", host="0.0.0.0" if everywhere else "127.0.0.1")
        self.respond = lambda _: response(b"", content_type="application/x-protobuf")

    def spans(self, trace: str = "") -> list[tuple[str, Any]]:
        """Return the spans of a trace, or all, by their beginnings, each with the name of its service."""
        found = []
        for request in self.requests:
            assert request.target == "/v1/traces"
            for resource in ExportTraceServiceRequest.FromString(request.body).resource_spans:
                [service] = [
                    fact.value.string_value
                    for fact in resource.resource.attributes
                    if fact.key == "service.name"
                ]
                found += [(service, span) for scope in resource.scope_spans for span in scope.spans]
        found.sort(key=lambda each: (each[1].start_time_unix_nano, -each[1].end_time_unix_nano))
        return [each for each in found if trace in each[1].trace_id.hex()]
