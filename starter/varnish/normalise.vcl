# One spelling for one page.

sub vcl_recv {
    if (req.restarts == 0) {
        call drop_analytics;
        if (req.url ~ "^[^?]+\.(css|js|mjs|png|jpe?g|gif|webp|avif|svg|ico|woff2?|ttf|otf)(\?|$)") {
            set req.http.X-Static = "yes";
        }
        # Longer than a pattern of a purge can bear.
        if (req.url ~ "^.{4097}") {
            std.log("rule: an address above 4 kB");
            return (pass);
        }
    }
}

# The key: this, because links may begin with it; then, by Varnish's own code, address and host.
sub vcl_hash {
    hash_data(req.http.X-Forwarded-Proto);
}
