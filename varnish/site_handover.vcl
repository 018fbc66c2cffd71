# Hands your own site over to site.vcl, as handover.vcl does with classic.localhost. nginx, which chooses the site by
# host name, says so; the application itself purges on a listener of its own (start.sh).

sub vcl_recv {
    if (req.restarts == 0 && (req.http.X-Site || local.socket == "purge_site")) {
        return (vcl(site));
    }
}
