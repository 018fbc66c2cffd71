# A client's claims about itself: later rules trust these headers, so they are checked, replaced or dropped here.

sub vcl_recv {
    # A restarted request (stale.vcl) has been here already.
    if (req.restarts == 0) {
        call normalise_client;
        call drop_private_notes;
    }
}

sub normalise_client {
    # Varnish has appended the address of its own client, nginx, to what nginx wrote: the browser's. The backend needs
    # the browser's, which is the last value but one. Values further left came from the browser and may be forged.
    set req.http.X-Forwarded-For = regsub(req.http.X-Forwarded-For, "^(?:.*,)? *([^, ]+) *,[^,]*$", "\1");

    # One id follows a request through three logs and onto the error page, so it must be harmless in all of them.
    if (req.http.X-Request-Id !~ "^[0-9A-Za-z-]{1,64}$") {
        set req.http.X-Request-Id = req.xid;
    }

    # Only a GET can ask for a range (RFC 9110, 14.2).
    if (req.method != "GET") {
        unset req.http.Range;
    }
    # A malformed range, or several, mean the whole file, as RFC 9110 allows: Varnish would reject both with 416, and
    # many overlapping ranges would make a large response out of a small request. A range may end beyond the end of the
    # file, but not in a number that Varnish cannot read.
    set req.http.Range = regsub(regsub(req.http.Range, "(?i)^bytes", "bytes"), "-[0-9]{19,}$", "-");
    if (req.http.Range !~ "^bytes=([0-9]+-[0-9]*|-[0-9]+)$" ||
        (req.http.Range ~ "[0-9]-[0-9]" && std.integer(regsub(req.http.Range, "^bytes=([0-9]+)-.*", "\1"), 0) >
                                           std.integer(regsub(req.http.Range, ".*-", ""), 0))) {
        unset req.http.Range;
    }
    # Of a compressed text a part would be bytes that no client can unpack, and other than those of the other sites.
    if (req.http.Range) {
        unset req.http.Accept-Encoding;
    }

    # CGI programs would read this as the variable HTTP_PROXY (https://httpoxy.org).
    unset req.http.Proxy;
}

# VCL has no variables: one subroutine passes notes to the next in request headers, which a client must not set.
sub drop_private_notes {
    unset req.http.X-Asked;         # microcache.vcl
    unset req.http.X-Media;         # media.vcl
    unset req.http.X-Outcome;       # cache_status.vcl
    unset req.http.Cache-Status;    # cache_status.vcl
    if (req.url ~ "\?") {
        set req.http.X-Asked = req.url;
    }
}
