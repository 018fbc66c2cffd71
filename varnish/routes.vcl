# What never meets the cache.

sub vcl_recv {
    # The built-in checks come first, so that no rule below can be a way around them. Only GET and HEAD come back.
    call vcl_req_host;
    call vcl_req_method;

    # For the container's health check: Varnish answers for itself, whatever the backend does.
    if (req.url == "/.varnish/health") {
        return (synth(200));
    }

    if (req.url ~ "^/ws(\?|$)" && req.http.Upgrade ~ "(?i)^websocket$") {
        return (pipe);
    }
    # Up to the slash: /admin/ is the workshop, /administrator would be just another page.
    if (req.url ~ "^/(admin|swf|ws|media/video)(/|\?|$)") {
        return (pass);
    }
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

sub vcl_pipe {
    # Both concern one connection only, so Varnish has dropped them; without either, there is no WebSocket.
    set bereq.http.Upgrade = req.http.Upgrade;
    set bereq.http.Connection = "Upgrade";
}
