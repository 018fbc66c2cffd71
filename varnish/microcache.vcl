# nginx keeps an answer for the rest of the second, so that a crowd causes one request to Varnish for each file and
# second.
#
# Varnish decides which, because only Varnish knows how it came by an answer: a fresh copy, the same for every client,
# and small enough for nginx's memory. (Only a copy, so that what nginx repeats of our report is true: a hit.) nginx
# comes by the listener "unix", and stores nothing without this header.
#
# "@" and a time: valid until the end of that second. A plain "1" could live for almost two, and what the backend has
# purged must be gone after one.

# The length, while it is known: what Varnish compresses has none afterwards, but is no longer than before. Of unknown
# length is too long.
sub vcl_backend_response {
    unset beresp.http.X-Small;
    if (std.integer(beresp.http.Content-Length, 81921) <= 81920) {
        set beresp.http.X-Small = "yes";
    }
}

sub vcl_deliver {
    unset resp.http.X-Accel-Expires;
    if (local.socket == "unix" && req.method == "GET" && !req.http.Range && req.http.X-Outcome == "hit" &&
        resp.http.X-Small && (!resp.http.Vary || resp.http.Vary ~ "(?i)^accept-encoding$")) {
        set resp.http.X-Accel-Expires = "@" + std.integer(time=now);
    }
    unset resp.http.X-Small;
}
