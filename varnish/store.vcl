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
    set beresp.grace = 24h;
}

# Not stored means hit-for-miss: for two minutes Varnish remembers not to make others wait for an answer that they
# cannot share. The first good answer ends it. Grace would keep that memory for a day, once per misspelt URL.
sub vcl_beresp_hitmiss {
    set beresp.grace = 0s;
}
