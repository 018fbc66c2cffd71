# Checks what a client says about itself, before any rule believes it. VCL has no variables, so one
# subroutine leaves a note to the next in a request header: a client must not bring any.

sub vcl_recv {
    if (req.restarts == 0) {
        unset req.http.X-Old;
        unset req.http.X-Wrote;
        unset req.http.X-Static;
        unset req.http.Cache-Status;
        # A list in several header lines becomes one line.
        std.collect(req.http.Cookie, "; ");
        std.collect(req.http.If-None-Match);
        # CGI programs read it as the variable HTTP_PROXY (https://httpoxy.org).
        unset req.http.Proxy;
        call keep_one_address;
        if (req.http.Range) {
            call keep_one_range;
        }
    }
}

# Varnish has appended the address of its own client, nginx, to what nginx wrote: the browser's.
# So the browser's address is the last but one; any before it are the browser's own claim.
sub keep_one_address {
    set req.http.X-Forwarded-For =
        regsub(req.http.X-Forwarded-For, "^(?:.*,)? *([^, ]+) *,[^,]*$", "\1");
}

# Only a GET can ask for a range (RFC 9110, 14.2). A malformed one, or several, mean the whole file:
# Varnish would reject both, and many that overlap would make a large response out of a small
# request. A range may end beyond the end of the file, but not in a number that Varnish cannot read.
sub keep_one_range {
    set req.http.Range = regsub(req.http.Range, "(?i)^bytes", "bytes");
    set req.http.Range = regsub(req.http.Range, "-[0-9]{19,}$", "-");
    if (req.method != "GET" ||
        req.http.Range !~ "^bytes=([0-9]+-[0-9]*|-[0-9]+)$" ||
        (req.http.Range ~ "[0-9]-[0-9]" &&
         std.integer(regsub(req.http.Range, "^bytes=([0-9]+)-.*", "\1"), 0) >
         std.integer(regsub(req.http.Range, ".*-", ""), 0))) {
        unset req.http.Range;
    }
    # A part of a compressed text would be bytes that no client can unpack.
    if (req.http.Range) {
        unset req.http.Accept-Encoding;
    }
}
