# Decides what may be stored, and for how long.

sub vcl_backend_response {
    # Store only complete, successful responses. (stale.vcl has dealt with a 5xx. A 304 has become the 200 that it
    # confirms. A 206 answers a range, but Varnish requests whole objects and cuts ranges itself.)
    if (beresp.status != 200) {
        call vcl_beresp_hitmiss;
    }
    # A * among the names in Vary means that no header tells which request a copy would fit. (The built-in VCL knows the *
    # alone, on the first line.) https://www.rfc-editor.org/rfc/rfc9110#section-12.5.5
    std.collect(beresp.http.Vary);
    if (beresp.http.Vary ~ "\*") {
        std.log("rule: Vary: *");
        set beresp.http.X-Rule = "Vary: *"; # rule.vcl
        call vcl_beresp_hitmiss;
    }
    # A header may promise a year, but an object that was never purged should not outlive the day.
    if (beresp.ttl > 24h) {
        set beresp.ttl = 24h;
    }
    # Expired copies are for when the backend fails, unless a header forbids that: then the copy would be wrong, not just old.
    set beresp.grace = 24h;
    if (beresp.http.Cache-Control ~ "(?i)(^|[, ])(must|proxy)-revalidate") {
        set beresp.grace = 0s;
    }

    # Deliver a stored response only when all of it has arrived. If it ends early, or there is no room for it, the
    # client gets a 503 instead of half a file. https://varnish-cache.org/docs/7.1/reference/vcl-var.html (do_stream)
    if (!bereq.uncacheable) {
        set beresp.do_stream = false;
    }
}

# The built-in code stores none of these responses; here each writes its reason into the log.
sub vcl_beresp_stale {
    if (beresp.ttl <= 0s) {
        std.log("rule: no lifetime");
        set beresp.http.X-Rule = "no lifetime";
    }
}

sub vcl_beresp_cookie {
    if (beresp.http.Set-Cookie) {
        std.log("rule: Set-Cookie");
        set beresp.http.X-Rule = "Set-Cookie";
    }
}

sub vcl_beresp_control {
    if (beresp.http.Cache-Control ~ "(?i:no-cache|no-store|private)") {
        std.log("rule: Cache-Control: " + beresp.http.Cache-Control);
        set beresp.http.X-Rule = "Cache-Control: " + beresp.http.Cache-Control;
    }
}

# A response that is not stored leaves a hit-for-miss object behind: for two minutes other requests do not wait for a
# response they could not share. (After an error or a redirect it lasts only until the waiting requests have woken up.) The
# first storable response ends it. With grace, every mistyped URL would leave a hit-for-miss object behind for a day.
# https://varnish-cache.org/docs/7.1/reference/vcl-step.html
sub vcl_beresp_hitmiss {
    if (beresp.status != 200) {
        std.log("rule: not a 200");
        set beresp.http.X-Rule = "not a 200";
        if (!bereq.uncacheable) {
            call for_who_asked_alone; # stale.vcl
        }
    }
    set beresp.grace = 0s;
    set beresp.do_stream = true; # no other client waits for it, whatever its size
    set beresp.do_gzip = false;  # a compressor would hold back the parts of a response that comes slowly
}
