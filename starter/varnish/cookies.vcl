# Who may get a copy. A cookie that is left by now may mean that its owner has signed in, so the
# request passes. Only a static file may come from a copy: one that a visitor without a cookie has
# caused, so it is not secret, or that the application calls `public` (keep.vcl).

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
    # Its range and If-None-Match reach the application, which a miss leaves out.
    if (req.is_hitmiss && req.http.Cookie) {
        return (pass);
    }
}
