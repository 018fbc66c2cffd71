# What may be stored at all.

sub vcl_backend_response {
    # Only whole, good answers. (A 5xx has left already, in stale.vcl. A 304 has become the 200 that it confirms. A 206
    # is the answer to a range, but Varnish asks for whole objects and cuts the ranges itself.)
    if (beresp.status != 200) {
        call vcl_beresp_hitmiss;
    }
    # A header may promise a year, but an object that nobody purged should not outlive the day.
    if (beresp.ttl > 24h) {
        set beresp.ttl = 24h;
    }
    # Old copies are for bad times, unless the backend says never: its page would be wrong rather than old.
    set beresp.grace = 24h;
    if (beresp.http.Cache-Control ~ "(?i)(^|[, ])(must|proxy)-revalidate") {
        set beresp.grace = 0s;
    }

    # Whole or not at all: an answer that is stored is delivered when all of it is there. If it ends early, or there is
    # no room for it, the client gets a 503 and not half a file.
    if (!bereq.uncacheable) {
        set beresp.do_stream = false;
    }
}

# Not stored means hit-for-miss: for two minutes Varnish remembers not to make others wait for an answer that they
# cannot share. The first good answer ends it. Grace would keep that memory for a day, once per misspelt URL.
sub vcl_beresp_hitmiss {
    set beresp.grace = 0s;
}
