# Expired copies, and an application that fails: a 5xx, no connection, no answer in time.
#
#   expired for         the client gets
#   up to 10 seconds    the old copy at once, while one request fetches the new page
#   longer              the new page; if that fails, the old copy, until a day after it has expired
#   there is no copy    the application's own error page; `unavailable`, if there is no answer
#
# Clients who wait for the same page share its failure: otherwise each would wait for its own, one
# after another. It is an object, fresh for those who came before it (lifetimes are compared with
# the time of the request). It must not replace the old copy, so it has to be known before the fetch
# whether there is one: X-Old is "seen" from when a copy was too old, "failed" when no new one came.

sub vcl_recv {
    set req.grace = 24h;
    if (req.http.X-Old == "seen") {
        set req.grace = 0s;
    }
}

sub vcl_hit {
    if (obj.ttl < -10s && !req.http.X-Old && std.healthy(req.backend_hint)) {
        set req.http.X-Old = "seen";
        return (restart);
    }
}

sub vcl_miss {
    # It has waited, and no new page came: who wakes up last does not always find the failure.
    if (req.http.X-Old == "seen" && !req.is_hitmiss && now > req.time + 0.2s) {
        set req.http.X-Old = "failed";
        return (restart);
    }
    # It is fetched again, whatever there is: there may be an old copy.
    if (req.hash_always_miss) {
        set req.http.X-Old = "seen";
    }
}

sub vcl_backend_fetch {
    # It has failed just now: the old copy is not fetched again for each of those who waited.
    if (bereq.is_bgfetch && bereq.http.X-Old == "failed") {
        return (abandon);
    }
}

sub vcl_backend_response {
    unset beresp.http.X-Failed;
    if (beresp.status >= 500 && !bereq.uncacheable) {
        if (bereq.is_bgfetch) {
            return (abandon);
        }
        if (bereq.http.X-Old == "seen") {
            return (error(503)); # delivered from here it would replace the old copy
        }
        # For one person: each client fetches its own, side by side.
        if (bereq.http.Cookie || beresp.http.Set-Cookie ||
            beresp.http.Cache-Control ~ "(?i)private|no-store|no-cache") {
            return (pass(1s));
        }
        set beresp.ttl = 0.1ms;
        set beresp.grace = 0s;
        set beresp.keep = 1s; # until those who wait have woken up
        return (deliver);
    }
}

sub vcl_backend_error {
    if (bereq.is_bgfetch) {
        return (abandon);
    }
    set beresp.http.X-Failed = "yes";
    # The next attempt finds the old copy, if there is one, beside it.
    set beresp.grace = 0s;
    set beresp.keep = 0s;
    if (bereq.http.X-Old == "seen") {
        set beresp.http.Vary = "X-Old";
    } else {
        set beresp.ttl = 0.1ms;
        set beresp.keep = 1s;
    }
    return (deliver);
}

sub vcl_deliver {
    if (resp.http.X-Failed) {
        if (req.http.X-Old == "seen") {
            set req.http.X-Old = "failed";
            return (restart);
        }
        unset resp.http.X-Failed;
        call unavailable;
    }
}
