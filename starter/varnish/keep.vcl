# Which responses are kept, and for how long.

# A new rule works at once: loading it drops the marks "not kept" that the old rules have left.
sub vcl_init {
    if (!std.ban("obj.http.X-Not-Kept == yes")) {
        return (fail("ban"));
    }
}

# A miss is passed, and not kept, if the client wants only a part of the response: a HEAD needs no
# body; and of a film only the range is fetched, if it begins above 8 MB or is the end of the film.
sub vcl_miss {
    if (req.method == "HEAD" || req.http.Range ~ "^bytes=-") {
        return (pass);
    }
    if (req.http.Range &&
        std.integer(regsub(req.http.Range, "^bytes=([0-9]+)-.*", "\1"), 8388609) > 8388608) {
        return (pass);
    }
}

# For a client that accepts no compression, an uncompressed response is fetched: otherwise Varnish
# would ask for a compressed one, and hold back the parts of a stream while it unpacks them.
sub vcl_recv {
    unset req.http.X-Plain;
    if (!req.http.Accept-Encoding) {
        set req.http.X-Plain = "yes";
    }
}
sub vcl_backend_fetch {
    if (bereq.http.X-Plain) {
        unset bereq.http.Accept-Encoding;
        unset bereq.http.X-Plain;
    }
}

sub vcl_backend_response {
    if (bereq.uncacheable) {
        return (deliver);
    }
    # A static file without a lifetime.
    if (bereq.http.X-Static && beresp.status == 200 && beresp.http.Content-Type !~ "html|json" &&
        !beresp.http.Cache-Control && !beresp.http.Expires) {
        set beresp.ttl = 10m;
    }
    std.collect(beresp.http.Vary);
    unset beresp.http.X-Not-Kept;
    # `no-cache` or `max-age=0`, and an ETag: each time the application confirms the copy by a 304.
    # A client that would have to wait for another client's 304 asks by itself.
    if (beresp.http.ETag && !bereq.http.Cookie &&
        (beresp.ttl <= 0s || beresp.http.Cache-Control ~ "(?i)no-cache") &&
        beresp.http.Cache-Control ~ "(?i)no-cache|max-age=0") {
        set beresp.ttl = 0.1ms;
        set beresp.http.X-Not-Kept = "yes";
    }
    call forbid_what_is_not_for_all;
    call keep_it;
}

# Responses that are for one person, have no lifetime, or would displace all other copies: large
# files, and streams of unknown length that are not text.
#
# A page of this kind leaves a mark in place of a copy: for a minute its address passes, so that
# ranges, If-None-Match and the parts of a stream reach the application and the client. If the
# cookie was the reason, a client without one may still make a copy. An error and a redirect leave
# no mark.
sub forbid_what_is_not_for_all {
    if (beresp.ttl <= 0s ||
        beresp.http.Set-Cookie ||
        beresp.http.Vary ~ "\*" ||
        beresp.http.Cache-Control ~ "(?i)private|no-store" ||
        (beresp.ttl > 1ms && beresp.http.Cache-Control ~ "(?i)no-cache") ||
        std.integer(beresp.http.Content-Length, 0) > 8388608 ||
        (!beresp.http.Content-Length &&
            beresp.http.Content-Type !~ "^(text|image|font)/|javascript|json|xml") ||
        (bereq.http.Cookie &&
            (beresp.http.Content-Type ~ "html|json" ||
             beresp.http.Cache-Control !~ "(?i)public|immutable|s-maxage"))) {
        std.log("rule: lifetime " + beresp.ttl +
            ", Cache-Control " + beresp.http.Cache-Control +
            ", Vary " + beresp.http.Vary +
            ", Set-Cookie " + regsub(beresp.http.Set-Cookie, "=.*", ""));
        if (std.integer(beresp.http.Content-Length, 0) > 8388608) {
            std.log("rule: above 8 MB");
        }
        if (beresp.status >= 300) {
            call for_who_asked_alone; # stale.vcl
        }
        set beresp.http.X-Not-Kept = "yes";
        if (!bereq.http.Cookie) {
            return (pass(60s));
        }
        set beresp.ttl = 60s;
        set beresp.grace = 0s;
        set beresp.uncacheable = true;
        return (deliver);
    }
}

sub keep_it {
    # A copy that was never purged should not outlive the day.
    if (beresp.ttl > 24h) {
        set beresp.ttl = 24h;
    }
    # An expired copy is for when the application fails (stale.vcl), unless a header forbids that.
    set beresp.grace = 24h;
    if (beresp.http.Cache-Control ~ "(?i)(must|proxy)-revalidate" || beresp.ttl < 1ms) {
        set beresp.grace = 0s;
    }
    # The whole response has to arrive before any part of it is sent.
    set beresp.do_stream = false;
    # Text is compressed once for all clients; less than 860 bytes fit into one packet as they are.
    set beresp.do_gzip =
        (beresp.http.Content-Type ~ "^text/|image/svg|javascript|json|xml" &&
         beresp.http.Cache-Control !~ "(?i)no-transform" &&
         std.integer(beresp.http.Content-Length, 860) >= 860);
    if (beresp.ttl < 1ms) {
        return (deliver); # Varnish's own rule would not keep it
    }
}

sub vcl_deliver {
    # nginx must not hold back parts of a stream that is not kept.
    if (obj.uncacheable) {
        if (!resp.http.Content-Length && resp.http.Content-Type ~ "^text|^multipart|json") {
            set resp.http.X-Accel-Buffering = "no";
        }
    } else {
        unset resp.http.X-Accel-Buffering;
    }
    unset resp.http.X-Not-Kept;
}
