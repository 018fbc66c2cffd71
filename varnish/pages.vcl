# The pages that Varnish writes itself. The built-in vcl_synth calls this hook; "return" skips its own page.

# The backend does not answer (starter/varnish/stale.vcl).
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
        # The backend has not been asked. With several machines, one that was cut off believes it dead for another second, and
        # nginx asks the next Varnish.
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
    # nginx's page (nginx/sites/error_page.conf.template), as `make settings` writes it.
    set resp.body = {"<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>"} + req.http.X-Title + {"</title>
<style>
  :root { color-scheme: light dark }
  body { margin: 0; min-height: 100vh; display: grid; place-content: center; padding: 1rem; text-align: center;
         background: #fbf3e2; color: #1f1b2e; font: 1.1rem/1.5 system-ui, sans-serif }
  main { padding: 2rem; border-top: 0.5rem solid #e0a13a; border-radius: 0.6rem; background: #fffaf0 }
  h1 { font-family: Palatino, Georgia, serif }
  small { color: #66566a }
  @media (prefers-color-scheme: dark) {
    body { background: #1f1b2e; color: #f6e7cb }
    main { background: #2b2540 }
    small { color: #c3b1c4 }
  }
</style>
<main>
  <h1>"} + req.http.X-Title + {"</h1>
  <p>"} + req.http.X-Message + {"</p>
  <small>"} + resp.status + {" &middot; request "} + req.http.X-Request-Id + {"</small>
</main>
</html>
"};
    return;
}
