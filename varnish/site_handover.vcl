# Hands a site of your own over to site.vcl, as handover.vcl does with classic.localhost. nginx, which chooses the site by
# host name, says so.

sub vcl_recv {
    if (req.restarts == 0 && req.http.X-Site) {
        return (vcl(site));
    }
}
