# One spelling for one page.

sub vcl_recv {
    if (req.restarts == 0) {
        call drop_analytics;
        if (req.url ~ "^[^?]+\.(css|js|mjs|png|jpe?g|gif|webp|avif|svg|ico|woff2?|ttf|otf)(\?|$)") {
            set req.http.X-Static = "yes";
        }
        # No purge would find it: it is too long for a pattern, or letters and digits are escaped.
        if (req.url ~ "^.{4097}|%(3[0-9]|[46][1-9a-fA-F]|[57][0-9aA])") {
            std.log("rule: an address above 4 kB, or with escaped letters");
            return (pass);
        }
    }
}

# The key: this, because links may begin with it; then, by Varnish's own code, address and host.
sub vcl_hash {
    hash_data(req.http.X-Forwarded-Proto);
}
