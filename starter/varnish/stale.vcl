# Expired copies, and an application that fails: a 5xx, no connection, no response in time.
#
#   expired for         the client gets
#   up to 10 seconds    the old copy at once, while one request fetches the new page
#   longer              the new page; if that fails, the old copy, until a day after it has expired
#   there is no copy    the application's own error page; `unavailable`, if there is no response
#
# Clients that wait for the same page share a failure that concerns all of them: no connection, no
# response in time, half a response. Otherwise each would wait for its own failure, one after
# another. Such a failure is stored as an object that is fresh for requests that came before it
# (Varnish compares lifetimes with the time of the request).
#
# An error page that the application has written is for the client that asked, because something in
# its request may be the reason: the clients that wait then fetch the page themselves, side by side
# (for_who_asked_alone). In that case the object is a hit-for-miss; since Varnish 8.0 they pass.
#
# Neither object may replace the old copy, so the rules have to know before the fetch whether there
# is one. X-Old is "seen" once a copy was too old, "failed" when no new one came, and "own" when the
# client gets a response that is for it alone.

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
    # Since Varnish 8.0 a request that has waited gets what the other one got, expired or not.
    if (req.http.X-Old == "seen" && obj.http.X-Failed ~ "own|wrote") {
        set req.http.X-Old = "own";
        return (pass);
    }
    if (req.http.X-Old == "own" && obj.ttl <= 0s) {
        return (pass);
    }
}

sub vcl_miss {
    if (req.http.X-Old == "own") {
        return (pass);
    }
    # This request has waited, and no new page came: the last ones to wake up do not always find the
    # failure.
    if (req.http.X-Old == "seen" && !req.is_hitmiss && now > req.time + 0.2s) {
        set req.http.X-Old = "failed";
        return (restart);
    }
    # The request ignores copies (hash_always_miss), so there may be an old one.
    if (req.hash_always_miss) {
        set req.http.X-Old = "seen";
    }
}

sub vcl_backend_fetch {
    # The fetch has just failed: do not repeat it in the background for each client that waited.
    if (bereq.is_bgfetch && bereq.http.X-Old == "failed") {
        return (abandon);
    }
}

sub vcl_backend_response {
    unset beresp.http.X-Failed;
    if (beresp.status >= 500) {
        if (bereq.http.X-Old == "own") {
            return (error(503)); # there is an old copy
        }
        if (!bereq.uncacheable) {
            call for_who_asked_alone;
        }
    }
}

# Sends an error or a redirect to the client that asked: it leaves no mark, and a copy stays, fresh
# or old.
sub for_who_asked_alone {
    if (bereq.is_bgfetch) {
        return (abandon);
    }
    if (bereq.http.X-Old == "seen") {
        set bereq.http.X-Wrote = beresp.status;
        return (error(503)); # delivered from here it would replace the old copy
    }
    call until_all_are_awake;
    set beresp.uncacheable = true;
    return (deliver);
}

sub until_all_are_awake {
    set beresp.ttl = 0.1ms;
    set beresp.grace = 0s;
    set beresp.keep = 1s;
}

sub vcl_backend_error {
    if (bereq.is_bgfetch) {
        return (abandon);
    }
    set beresp.http.X-Failed = "yes";
    if (bereq.http.X-Wrote) {
        set beresp.http.X-Failed = "wrote";
    }
    if (bereq.http.X-Wrote ~ "^[34]") {
        set beresp.http.X-Failed = "own";
    }
    if (bereq.http.X-Old != "seen") {
        call until_all_are_awake;
        return (deliver);
    }
    # With this Vary the next attempt finds the old copy, which is stored beside this object.
    set beresp.http.Vary = "X-Old";
    if (bereq.http.X-Wrote && beresp.ttl > 0s) { # Varnish's own value if others wait, otherwise 0
        call until_all_are_awake;
        set beresp.uncacheable = true;
        return (deliver);
    }
    set beresp.grace = 0s;
    set beresp.keep = 0s;
    return (deliver);
}

sub vcl_deliver {
    if (resp.http.X-Failed) {
        if (req.http.X-Old == "seen" && resp.http.X-Failed == "own") {
            set req.http.X-Old = "own";
            return (restart);
        }
        if (req.http.X-Old ~ "seen|own") {
            set req.http.X-Old = "failed";
            return (restart);
        }
        unset resp.http.X-Failed;
        call unavailable;
    }
}
