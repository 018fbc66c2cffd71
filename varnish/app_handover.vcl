# Hands your own application over to app.vcl, as handover.vcl does with classic.localhost. nginx, which chooses the server by
# host name, says so; the application itself purges on a listener of its own (start.sh).

sub vcl_recv {
    if (req.restarts == 0 && (req.http.X-Own-App || local.socket == "purge_app")) {
        return (vcl(app));
    }
}
