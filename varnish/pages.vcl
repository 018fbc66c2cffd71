# The pages that Varnish writes itself. The built-in vcl_synth calls this hook; "return" skips its own page.

include "page.vcl";

# The backend fails: no response (starter/varnish/stale.vcl), or UpStage's 5xx (upstage_page.vcl).
sub unavailable {
    return (synth(503));
}

sub vcl_builtin_synth {
    set resp.http.Cache-Control = "no-store";
    if (resp.status == 200) {
        set resp.http.Content-Type = "text/plain; charset=utf-8";
        set resp.body = {"ok
"};
        return;
    }
    if (resp.status == 405) {
        set resp.http.Allow = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";
    }
    if (resp.status == 503) {
        set resp.http.Retry-After = "5";
        if (req.method == "GET") {
            set resp.http.Refresh = "5"; # a browser does not obey Retry-After
        }
        call say_unavailable;
        # The backend has not been asked. With several machines, a Varnish that was cut off believes for another second that the
        # backend is dead; nginx then asks the next Varnish.
        if (local.socket == "nginx-tcp" && !std.healthy(req.backend_hint)) {
            set resp.status = 502;
            set resp.reason = "Bad Gateway";
        }
    } else {
        set req.http.X-Title = resp.reason;
        set req.http.X-Message = "Your browser sent a request that this server does not support.";
    }
    set resp.http.Content-Type = "text/html; charset=utf-8";
    set resp.http.Content-Security-Policy = "default-src 'none'; style-src 'unsafe-inline'";
    set resp.http.X-Content-Type-Options = "nosniff";
    set resp.http.Referrer-Policy = "same-origin";
    call write_page;
    return;
}
