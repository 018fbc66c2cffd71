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
# Clients that have waited for a fetch share its failure, or each would wait for its own fetch, one after another. So the
# failure is an object, fresh for those who came before it: Varnish compares lifetimes with the time of the request.
#
# Where there is an old copy, this object must leave it in place, so it may have no lifetime and needs a Vary. That has to be
# known before the fetch. X-Old is "renew" from when a copy was found too old, "failed" when the new one has not come.

sub vcl_recv {
    if (req.restarts == 0) {
        unset req.http.X-Old;
    }
    set req.grace = 24h;
    if (req.http.X-Old == "renew") {
        set req.grace = 0s;
    }
}

sub vcl_hit {
    if (obj.ttl < -10s && !req.http.X-Old && std.healthy(req.backend_hint)) {
        set req.http.X-Old = "renew";
        return (restart);
    }
}

sub vcl_miss {
    if (req.http.X-Old == "failed") {
        return (synth(503)); # in the meantime the old copy has gone
    }
    # It has waited, and no copy came: the failure is not always found by those who wake up last.
    if (req.http.X-Old == "renew" && !req.is_hitmiss && now > req.time + 0.2s) {
        set req.http.X-Old = "failed";
        return (restart);
    }
    if (req.hash_always_miss) {
        set req.http.X-Old = "renew";
    }
}

# It has just failed, so the old copy is not fetched again in the background, once for each of the clients.
sub vcl_backend_fetch {
    if (bereq.is_bgfetch && bereq.http.X-Old == "failed") {
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
    set beresp.http.X-Fetch-Failed = "yes";
    set beresp.grace = 0s;
    set beresp.keep = 0s;
    if (bereq.http.X-Old == "renew") {
        set beresp.http.Vary = "X-Old";
    } else {
        set beresp.ttl = 0.1ms;
        set beresp.keep = 1s; # until all of them have woken up
    }
    return (deliver);
}

sub vcl_deliver {
    if (resp.http.X-Fetch-Failed) {
        if (req.http.X-Old == "renew") {
            set req.http.X-Old = "failed";
            return (restart);
        }
        return (synth(503));
    }
}
