# The VCL of the CERN Open Data portal, 2014: everybody is the same guest, so everything but the search is kept for an
# hour. For an application without nginx in front of it; include it after the backend:
#
#   vcl 4.1;
#   include "backends.vcl";
#   include "opendata.vcl";

sub vcl_recv {
    # What the application writes into its log. Nobody stands before this Varnish, so what a client claims is dropped;
    # Apache's mod_remoteip (in 2014: mod_rpaf) takes the address from here.
    set req.http.X-Forwarded-For = client.ip;

    if (req.url !~ "^/search") {
        unset req.http.Cookie;
    }
}

sub vcl_backend_response {
    if (bereq.url !~ "^/search") {
        unset beresp.http.Set-Cookie;
        # In 2014 an error was kept for an hour, too.
        if (beresp.status == 200) {
            set beresp.ttl = 1h;
        }
    }
}

# "Nicer error page": one that says nothing of Varnish.
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
