# UpStage fails: what starter/varnish/stale.vcl leaves open, and the words of our 503 page (pages.vcl). An application of your own has
# other words (app.vcl), and its own error pages.

sub vcl_backend_response {
    # To a visitor its 5xx is our page. A passed request (a POST, the workshop) gets UpStage's own, because a player is at work
    # there and needs to read it.
    if (beresp.status >= 500 && !bereq.uncacheable) {
        return (error(503));
    }
}

sub vcl_backend_error {
    # A restarting backend drops connections: repeat the request, where repeating does no harm.
    if (!bereq.is_bgfetch && bereq.retries == 0 && (bereq.method == "GET" || bereq.method == "HEAD")) {
        return (retry);
    }
}

sub say_unavailable {
    set req.http.X-Title = "The curtain is down for a moment";
    set req.http.X-Message = "Our theatre server does not answer. Please try again in a few seconds.";
}
