# Is this a request that we play at all? The built-in checks come first, so that no later rule can be a way around them:
# no Host is a 400, and only GET and HEAD come back from here, everything else is passed or refused.

sub vcl_recv {
    # Behind one Host and a path there is one object. Varnish before 9.0 lets "https://elsewhere/" be a path.
    if (req.url !~ "^/" || req.http.Host !~ "^[0-9A-Za-z._:\[\]-]*$") {
        return (synth(400));
    }
    if (req.url ~ "^.{4097}") {
        return (synth(414));
    }
    call vcl_req_host;
    call vcl_req_method;
}

sub vcl_req_method {
    # To empty a cache is not for the public.
    if (req.method == "PURGE" || req.method == "BAN") {
        return (synth(405));
    }
    # Varnish before 8.0 would open a pipe to the backend for a method that it does not know.
    if (req.method !~ "^(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS)$") {
        return (synth(501));
    }
}
