# The pages that Varnish writes itself. The built-in vcl_synth calls this hook; "return" skips its own page.

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
        set req.http.X-Title = "The curtain is down for a moment";
        set req.http.X-Message = "Our theatre server does not answer. Please try again in a few seconds.";
    } else {
        set req.http.X-Title = resp.reason;
        set req.http.X-Message = "Your browser sent a request that this server does not support.";
    }
    set resp.http.Content-Type = "text/html; charset=utf-8";
    set resp.http.Content-Security-Policy = "default-src 'none'; style-src 'unsafe-inline'";
    set resp.body = {"<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>UpStage: "} + resp.status + {"</title>
<style>
  body { margin: 0; min-height: 100vh; display: grid; place-items: center; background: #2b0710; color: #fbeee0;
         font: 1.1rem/1.5 Georgia, serif; text-align: center }
  main { padding: 2rem; border-top: .5rem solid #b3122f; border-bottom: .5rem solid #b3122f }
  small { color: #d9b8a6 }
</style>
<main>
  <h1>"} + req.http.X-Title + {"</h1>
  <p>"} + req.http.X-Message + {"</p>
  <small>"} + resp.status + " " + resp.reason + {" &middot; request "} + req.http.X-Request-Id + {"</small>
</main>
</html>
"};
    return;
}
