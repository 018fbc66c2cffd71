# Checks what a client says about itself, and removes headers that only this stack's rules may set.

include "starter/varnish/client.vcl"; # methods, address, ranges

sub vcl_recv {
    if (req.restarts == 0) {
        # One id follows a request through three logs and onto the error page, so it must be harmless in all of them.
        if (req.http.X-Request-Id !~ "^[0-9A-Za-z-]{1,64}$") {
            set req.http.X-Request-Id = req.xid;
        }
        unset req.http.X-Media;   # media.vcl
        unset req.http.X-Outcome; # cache_status.vcl
        unset req.http.X-Asked;   # microcache.vcl
        if (req.url ~ "\?") {
            set req.http.X-Asked = req.url;
        }
    }
}

sub vcl_backend_fetch {
    unset bereq.http.X-Asked; # for microcache.vcl alone
}
