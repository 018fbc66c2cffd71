# What is the same for everybody: pictures, sounds, scripts, styles. Kept 12 hours, whatever the backend's headers say;
# the browser is told nothing of this and goes by those headers.

sub vcl_recv {
    if (req.url ~ "^/(media|speech)/" ||
        req.url ~ "^[^?]*\.(png|gif|jpe?g|ico|svg|swf|css|js|mp3|woff2)(\?|$)") {
        set req.http.X-Media = "yes";
    }
}

# Without a cookie, the backend cannot answer for one person only. This is also why a page that somebody made look like
# a picture (/private.html/x.png) is safe to keep: it was fetched as nobody.
sub vcl_req_cookie {
    if (req.http.X-Media) {
        unset req.http.Cookie;
    }
}

sub vcl_req_authorization {
    if (req.http.X-Media) {
        unset req.http.Authorization;
    }
}

sub vcl_backend_response {
    if (bereq.http.X-Media) {
        unset beresp.http.Set-Cookie;
        set beresp.ttl = 12h;
    }
}

# The built-in check for Cache-Control: private, no-cache and no-store. Media need not pass it.
sub vcl_beresp_control {
    if (bereq.http.X-Media) {
        return;
    }
}
