# Gives each request one spelling, so that one object serves it.

include "starter/varnish/analytics.vcl"; # the starter's list of arguments and cookies that only scripts in the browser read

sub vcl_recv {
    # A restarted request (stale.vcl) is already normalised.
    if (req.restarts == 0) {
        call normalise_host;
        if (req.method == "GET" || req.method == "HEAD") {
            call normalise_query;
        }
    }
}

# Equivalent queries become one. (A POST creates no object and keeps its query.)
sub normalise_query {
    call drop_analytics;
    # ?b=1&a=2 and ?a=2&b=1 ask for the same page.
    set req.url = std.querysort(req.url);
}

sub normalise_host {
    # The Host header is part of the cache key. Its port is not, because the same site has several. (The built-in
    # vcl_req_host makes it lower case.)
    if (req.http.Host) {
        set req.http.Host = regsub(req.http.Host, ":[0-9]*$", "");
    }
}
