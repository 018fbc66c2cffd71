# A copy is too old, or the backend does not answer.
#
#   backend    copy expired for    the audience gets
#   healthy    up to 10 s          the old copy at once, while one request fetches the new one
#   healthy    longer              a new copy; if that fails, the old one after all
#   sick       up to 24 h          the old copy
#   any        no copy             the backend's answer; if that fails, our 503 page
#
# "Fails" is a 5xx, a refused connection or a timeout. What is passed (a POST, the workshop) keeps the backend's own 5xx
# page: somebody is at work there and needs to read it.

sub vcl_recv {
    if (req.restarts > 0) {
        # The second time round: any copy will do, and no waiting for the next one who tries.
        set req.grace = 24h;
        set req.hash_ignore_busy = true;
    } elsif (std.healthy(req.backend_hint)) {
        set req.grace = 10s;
    }
}

sub vcl_miss {
    # The backend has failed, and there is no copy.
    if (req.restarts > 0) {
        return (synth(503));
    }
}

sub vcl_backend_response {
    unset beresp.http.X-Fetch-Failed;
    if (beresp.status >= 500 && !bereq.uncacheable) {
        return (error(503));
    }
}

sub vcl_backend_error {
    # Nobody waits for a background fetch. Give up, and the old copy stays.
    if (bereq.is_bgfetch) {
        return (abandon);
    }
    # A backend that restarts drops connections: ask once more, where asking twice does no harm.
    if (bereq.retries == 0 && (bereq.method == "GET" || bereq.method == "HEAD")) {
        return (retry);
    }
    # An error with a lifetime would take the place of the old copy.
    set beresp.ttl = 0s;
    set beresp.grace = 0s;
    set beresp.keep = 0s;
    set beresp.http.X-Fetch-Failed = "yes";
    return (deliver);
}

sub vcl_deliver {
    if (resp.http.X-Fetch-Failed) {
        if (req.restarts == 0 && req.http.X-Outcome != "pass") {
            return (restart);
        }
        return (synth(503));
    }
}
