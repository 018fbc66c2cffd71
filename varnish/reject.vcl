# Rejects malformed and unsupported requests before any caching rule runs. The built-in checks are called first, so that
# no later rule can bypass them: a request without Host gets 400, and only GET and HEAD return from here; other methods
# are passed or rejected.

sub vcl_recv {
    # The cache key is one host and one path. Varnish before 9.0 accepts "https://other.example/" as a path.
    if (req.url !~ "^/" || req.http.Host !~ "^[0-9A-Za-z._:\[\]-]*$") {
        std.log("rule: neither a path nor a host name");
        return (synth(400));
    }
    if (req.url ~ "^.{4097}") {
        std.log("rule: a URL above 4 kB");
        return (synth(414));
    }
    call vcl_req_host;
    call vcl_req_method;
}

sub vcl_req_method {
    # Varnish before 8.0 would open a pipe to the backend for an unknown method.
    if (req.method !~ "^(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS)$") {
        std.log("rule: an unknown method");
        return (synth(501));
    }
    # The built-in code passes the others.
    if (req.method != "GET" && req.method != "HEAD") {
        std.log("rule: the method " + req.method);
    }
}
