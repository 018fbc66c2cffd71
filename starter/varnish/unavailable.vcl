# Your application does not answer: this header makes nginx send its own page (../nginx/page.conf).
# Varnish sets the header (stale.vcl), and so does the nginx server that asks the application.

sub vcl_recv {
    if (req.url == "/.nginx/health") {
        return (pass); # health.sh
    }
}

sub unavailable {
    set resp.http.X-Accel-Redirect = "/.nginx/unavailable";
}

# nginx could not reach the application: a failure for all waiting clients (stale.vcl).
sub vcl_backend_response {
    if (beresp.http.X-Accel-Redirect == "/.nginx/unavailable" && !bereq.uncacheable) {
        return (error(503));
    }
}
