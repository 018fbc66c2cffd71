# One spelling for one page.

sub vcl_recv {
    if (req.restarts == 0) {
        call drop_analytics;
        if (req.url ~ "^[^?]+\.(css|js|mjs|png|jpe?g|gif|webp|avif|svg|ico|woff2?|ttf|otf)(\?|$)") {
            set req.http.X-Static = "yes";
        }
        # No purge could find a copy of such an address: it is too long for a pattern, or has
        # escaped letters or digits.
        if (req.url ~ "^.{4097}|%(3[0-9]|[46][1-9a-fA-F]|[57][0-9aA])") {
            std.log("rule: an address above 4 kB, or with escaped letters");
            return (pass);
        }
    }
}

# The key begins with the scheme, because a page may have links that begin with it; Varnish's own
# code adds the address and the host.
sub vcl_hash {
    hash_data(req.http.X-Forwarded-Proto);
}
