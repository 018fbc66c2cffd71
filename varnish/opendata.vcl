# The VCL of the CERN Open Data portal, 2014: no client logs in, so everything but the search is cached for an hour. For
# an application without nginx in front of it; include it after the declaration of a backend:
#
#   vcl 4.1;
#   backend portal { .host = "portal"; .port = "80"; }
#   include "opendata.vcl";

sub vcl_recv {
    # The client's address for the application's log: Apache's mod_remoteip (in 2014: mod_rpaf) reads it from here. No
    # proxy is in front of this Varnish, so an incoming value is only a claim.
    set req.http.X-Forwarded-For = client.ip;

    if (req.url !~ "^/search") {
        unset req.http.Cookie;
    }
}

sub vcl_backend_response {
    if (bereq.url !~ "^/search") {
        unset beresp.http.Set-Cookie;
        # In 2014 errors were cached for an hour too.
        if (beresp.status == 200) {
            set beresp.ttl = 1h;
        }
    }
}

# "Nicer error page": one that does not mention Varnish.
sub vcl_backend_error {
    set beresp.http.Content-Type = "text/html; charset=utf-8";
    set beresp.http.Retry-After = "5";
    set beresp.http.Cache-Control = "no-store";
    set beresp.body = {"<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<title>"} + beresp.status + " " + beresp.reason + {"</title>
<h1>This page is not available right now</h1>
<p>Please try again in a few seconds. ("} + beresp.status + {")</p>
</html>
"};
    return (deliver);
}

sub vcl_deliver {
    unset resp.http.Server;
    unset resp.http.Via;
    unset resp.http.X-Varnish;
}
