# Who may get a copy. A cookie that is still there (analytics have been dropped) may mean that the
# visitor has signed in, so the request passes. Only a static file may come from a copy: one that
# was fetched for a visitor without a cookie, so it is not secret, or that the application calls
# `public` (keep.vcl).

sub vcl_req_cookie {
    if (req.http.X-Static) {
        return;
    }
}

sub vcl_hit {
    # A page whose address looks like a file's, such as a wiki's fox.png.
    if (req.http.Cookie && obj.http.Content-Type ~ "html|json") {
        return (pass);
    }
    if (obj.http.X-Not-Kept) {
        return (pass);
    }
}

sub vcl_miss {
    # Pass it, so that its range and If-None-Match reach the application: a miss leaves them out.
    if (req.is_hitmiss && req.http.Cookie) {
        return (pass);
    }
}
