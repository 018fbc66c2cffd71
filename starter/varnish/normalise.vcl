# One spelling for one page. VCL has no variables, so notes are request headers; a client must not
# bring any.

sub vcl_recv {
    if (req.restarts == 0) {
        unset req.http.X-Old;
        unset req.http.X-Static;
        unset req.http.Cache-Status;
        # Varnish has appended nginx's address.
        set req.http.X-Forwarded-For = regsub(req.http.X-Forwarded-For, ", *[^,]*$", "");
        call drop_analytics;
        # By these, frameworks take a GET for another method, and no copy's key has them.
        unset req.http.X-HTTP-Method-Override;
        unset req.http.X-HTTP-Method;
        unset req.http.X-Method-Override;
        # Several ranges, or malformed ones: the whole file.
        if (req.http.Range !~ "^bytes=([0-9]+-[0-9]*|-[0-9]+)$") {
            unset req.http.Range;
        }
        if (req.url ~ "^[^?]+\.(css|js|mjs|png|jpe?g|gif|webp|avif|svg|ico|woff2?|ttf|otf)(\?|$)") {
            set req.http.X-Static = "yes";
        }
    }
}

# The key: this, because links may begin with it; then, by Varnish's own code, address and host.
sub vcl_hash {
    hash_data(req.http.X-Forwarded-Proto);
}
