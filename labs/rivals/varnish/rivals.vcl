# Varnish alone. Manual: https://varnish-cache.org/docs/7.7/users-guide/
vcl 4.1;

import std;

backend upstage {
    .path = "/run/proscenium/backend/upstage.sock";
    .probe = { .url = "/health"; .interval = 2s; .timeout = 1s; .initial = 8; }
}

sub vcl_recv {
    if (req.url ~ "^/media/") {
        unset req.http.Cookie;
    }
    if (std.healthy(req.backend_hint)) {
        set req.grace = 10s;
    }
}

sub vcl_backend_response {
    # No request waits for a background fetch: if it fails, the expired copy stays.
    if (beresp.status >= 500 && bereq.is_bgfetch) {
        return (abandon);
    }
    set beresp.grace = 24h;
    set beresp.do_gzip = beresp.http.Content-Type ~ "^(text/|image/svg)";
    if (bereq.url ~ "^/media/") {
        unset beresp.http.Set-Cookie;
        set beresp.ttl = 12h;
        return (deliver); # skips the built-in check of Cache-Control
    }
}
