# nginx keeps an answer for the rest of the second, so that a full house asks Varnish for each file once per second.
#
# Varnish decides which, because only Varnish knows how it came by an answer: a fresh copy, the same for everybody, and
# not huge. (Only a copy, so that what nginx repeats of our report is true: a hit.) nginx comes by the listener "unix",
# and stores nothing without this header.
#
# "@" and a time: valid until the end of that second. A plain "1" could live for almost two, and what the backend has
# purged must be gone after one.

sub vcl_deliver {
    unset resp.http.X-Accel-Expires;
    if (local.socket == "unix" && req.method == "GET" && !req.http.Range && req.http.X-Outcome == "hit" &&
        # What Varnish has compressed has no length yet; text is never that long.
        (resp.http.Content-Encoding == "gzip" || std.integer(resp.http.Content-Length, 1572865) <= 1572864) &&
        (!resp.http.Vary || resp.http.Vary ~ "(?i)^accept-encoding$")) {
        set resp.http.X-Accel-Expires = "@" + std.integer(time=now);
    }
}
