# Expired copies, and a backend that does not answer.
#
#   backend    copy expired for    the client gets
#   healthy    up to 10 s          the old copy immediately, while one request fetches the new one
#   healthy    longer              a new copy; if that fails, the old one after all
#   sick       up to 24 h          the old copy
#   any        no copy             the backend's response; if that fails, our 503 page
#
# "Fails" means a 5xx, a refused connection or a timeout. A passed request (a POST, the workshop) gets the backend's own
# 5xx page, because a player is at work there and needs to read it.
# https://varnish-cache.org/docs/7.1/users-guide/vcl-grace.html
#
# Clients that have waited for a fetch share its failure, or each would wait for its own fetch, one after another: for a
# second, and only if clients wait, the failure is an object. It has to leave the old copy in place and reachable: Varnish
# does the first if clients wait, Vary the second. Only a first attempt is without this header.
# https://github.com/varnishcache/varnish-cache/pull/2951

sub vcl_recv {
    unset req.http.X-Attempt;
    if (req.restarts > 0) {
        # The second attempt: any copy will do, and it does not wait for another request's fetch.
        set req.http.X-Attempt = req.restarts;
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

# It has just failed, so the old copy is not fetched again in the background, once for each of the clients.
sub vcl_backend_fetch {
    if (bereq.is_bgfetch && bereq.http.X-Attempt) {
        return (abandon);
    }
}

sub vcl_backend_response {
    unset beresp.http.X-Fetch-Failed;
    if (beresp.status >= 500 && !bereq.uncacheable) {
        return (error(503));
    }
}

sub vcl_backend_error {
    # No client waits for a background fetch. Abandoning it leaves the old copy in place.
    if (bereq.is_bgfetch) {
        return (abandon);
    }
    # A restarting backend drops connections: repeat the request, where repeating does no harm.
    if (bereq.retries == 0 && (bereq.method == "GET" || bereq.method == "HEAD")) {
        return (retry);
    }
    # Varnish has set a lifetime of one second if clients wait, else none.
    set beresp.grace = 0s;
    set beresp.keep = 0s;
    set beresp.http.Vary = "X-Attempt";
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
