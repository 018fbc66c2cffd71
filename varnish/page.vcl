# Written from nginx/sites/error_page.html by `make settings`.

sub write_page {
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
}
