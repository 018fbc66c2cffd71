# The health check and WebSockets.

sub vcl_recv {
    # The container's health check: Varnish answers it, whatever state the backend is in.
    if (req.url == "/.varnish/health") {
        return (synth(200));
    }

    if (req.url ~ "^/ws(\?|$)" && req.http.Upgrade ~ "(?i)^websocket$") {
        return (pipe);
    }
}

# Varnish does not forward these two headers, because they concern one connection only; a WebSocket needs both.
# https://varnish-cache.org/docs/7.1/users-guide/vcl-example-websockets.html
sub vcl_pipe {
    set bereq.http.Upgrade = req.http.Upgrade;
    set bereq.http.Connection = "Upgrade";
}
