# Large media stay on the disk. If nginx says that it can read the disk (X-Accel-Media), the backend answers with the
# name of the file in X-Accel-Redirect; other clients get the body. The two responses are variants, by Vary. Varnish
# stores the headers of the first; nginx reads the file from the disk and serves ranges and 304 by itself.

sub vcl_deliver {
    if (resp.http.X-Accel-Redirect) {
        unset req.http.Range;
    }
    # Clients do not send that header: for them, and for caches between them and nginx, there is one variant.
    set resp.http.Vary = regsub(resp.http.Vary, "^X-Accel-Media(, *)?|, *X-Accel-Media", "");
    if (resp.http.Vary == "") {
        unset resp.http.Vary;
    }
}
