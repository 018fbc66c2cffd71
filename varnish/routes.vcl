# What never meets the cache.

sub vcl_recv {
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

sub vcl_pipe {
    # Both concern one connection only, so Varnish has dropped them; without either, there is no WebSocket.
    set bereq.http.Upgrade = req.http.Upgrade;
    set bereq.http.Connection = "Upgrade";
}
