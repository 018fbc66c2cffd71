# What happens when UpStage fails, beyond the rules of starter/varnish/stale.vcl, and the text of our 503 page (pages.vcl). An
# application of your own gets another text (app.vcl), and keeps its own error pages.

sub vcl_backend_response {
    if (beresp.status >= 500 && !bereq.uncacheable && !bereq.is_bgfetch && bereq.retries == 0) {
        return (retry);
    }
}

# A restarting backend drops connections: repeat the request, where repeating does no harm. (With "own" there is an old copy.)
sub vcl_backend_error {
    if (!bereq.is_bgfetch && bereq.retries == 0 && bereq.http.X-Old != "own" &&
        (bereq.method == "GET" || bereq.method == "HEAD")) {
        return (retry);
    }
}

# A visitor gets our page in place of UpStage's 5xx. A passed request (a POST, the workshop) gets UpStage's own page, because a
# player is at work there and needs to read it.
sub vcl_deliver {
    if (resp.status >= 500 && !resp.http.X-Failed && req.http.X-Outcome != "pass") {
        call unavailable;
    }
}

sub say_unavailable {
    set req.http.X-Title = "The curtain is down for a moment";
    set req.http.X-Message = "Our theatre server does not answer. Please try again in a few seconds.";
}
