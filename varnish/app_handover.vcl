# Hands your own application over to app.vcl, as handover.vcl does with classic.localhost. nginx, which chooses the server by host
# name, marks these requests; purges from the application arrive on a listener of their own (start.sh).

sub vcl_recv {
    if (req.restarts == 0 && (req.http.X-Own-App || local.socket == "purge_app")) {
        return (vcl(app));
    }
}
