# Names a fetch in its trace: the span-id of a transaction is its number in 16 digits (logs/spans.py). So the spans of the
# backend, or of an application of your own, stand below the fetch that asked for them, and not below nginx.
# https://www.w3.org/TR/trace-context/#traceparent-header

sub vcl_backend_fetch {
    if (bereq.http.traceparent) {
        set bereq.http.traceparent = regsub(bereq.http.traceparent, "^(00-[0-9a-f]{32}-)[0-9a-f]{16}",
            "\1" + regsub("000000000000000" + bereq.xid, "^.*(.{16})$", "\1"));
    }
}
