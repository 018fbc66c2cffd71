# Responses that nginx may cache until the end of the second, so that a crowd causes one request to Varnish for each
# file and second.
#
# Varnish decides, because only Varnish knows how it got a response. The response must be a fresh copy, the same for every client,
# and small enough for nginx's memory. (Only a copy, because nginx repeats its Cache-Status, "hit".) Its URL must be the one that
# was asked for: where arguments are dropped, a page has any number of others, and nginx would keep a copy for each. nginx
# connects to the listeners "nginx" and "nginx-tcp", and stores nothing without this header.
#
# "@" and a time: valid until the end of that second. A plain "1" could last for almost two seconds, and an object that
# the backend has purged must be gone after one.
# https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_cache_valid

# Check the length before compression: afterwards Varnish states none, but the object is no longer than before. A
# response of unknown length counts as too long.
sub vcl_backend_response {
    unset beresp.http.X-Small;
    if (std.integer(beresp.http.Content-Length, 81921) <= 81920) {
        set beresp.http.X-Small = "yes";
    }
}

sub vcl_deliver {
    unset resp.http.X-Accel-Expires;
    if (local.socket ~ "^nginx" && req.method == "GET" && !req.http.Range && req.http.X-Outcome == "hit" &&
        (!req.http.X-Asked || req.http.X-Asked == req.url) && resp.http.X-Small && (!resp.http.Vary || resp.http.Vary ~ "(?i)^accept-encoding$")) {
        set resp.http.X-Accel-Expires = "@" + std.integer(time=now);
    }
    unset resp.http.X-Small;
}
