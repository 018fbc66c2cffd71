# Files that are the same for every client: pictures, sounds, scripts, styles. Cached for 12 hours, whatever the
# backend's headers say; the browser gets those headers unchanged.

sub vcl_recv {
    if (req.url ~ "^/(media|speech)/" ||
        req.url ~ "^[^?]*\.(png|gif|jpe?g|ico|svg|swf|css|js|mp3|woff2)(\?|$)") {
        set req.http.X-Media = "yes";
    }
}

# Without a cookie the backend cannot tailor a response to one user. So even a page whose URL pretends to be a picture
# (/private.html/x.png) is safe to cache: it was fetched without credentials. The built-in code passes requests that still
# have them.
sub vcl_req_cookie {
    if (req.http.X-Media) {
        unset req.http.Cookie;
    } elsif (req.http.Cookie) {
        std.log("rule: a cookie");
        set req.http.X-Rule = "a cookie";
    }
}

sub vcl_req_authorization {
    if (req.http.X-Media) {
        unset req.http.Authorization;
    } elsif (req.http.Authorization) {
        std.log("rule: a password");
    }
}

sub vcl_backend_response {
    if (bereq.http.X-Media) {
        unset beresp.http.Set-Cookie;
        set beresp.ttl = 12h;
    }
}

# Skips the built-in check of Cache-Control (private, no-cache, no-store).
sub vcl_beresp_control {
    if (bereq.http.X-Media) {
        return;
    }
}
