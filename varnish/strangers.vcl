# Crawlers come from thousands of addresses, each of which asks for little, so no limit for one client sees them. But they bring no
# cookie, and ask for pages of which there is no copy.
#
# A *stranger* is a client without a cookie and without a password. (The script of a stage sets the cookie `upstage_seen=1`, the
# same for every visitor; an application that a visitor signs in to sets its own.) Copies are for everyone. Of the fetches that
# strangers cause, only STRANGER_FETCHES are in progress at a time: the others wait for up to 0.8 s, twice, and then get our 503
# page. So a page that no cache has, and no stranger is waiting for, comes as soon for a visitor who is known as if there were no
# crawlers.
#
# https://varnish-cache.org/docs/7.7/reference/vcl-backend.html (wait_limit): Varnish 7.6 and newer. An older one has no such limit.

sub vcl_recv {
    if (req.restarts == 0) {
        unset req.http.X-Known;
        unset req.http.X-Stranger;
        if (req.http.Cookie || req.http.Authorization) {
            set req.http.X-Known = "yes";
            # It has told what it has to tell: no page depends on it.
            if (req.http.Cookie == "upstage_seen=1") {
                unset req.http.Cookie;
            } elsif (req.http.Cookie ~ "upstage_seen=1") {
                std.collect(req.http.Cookie, "; ");
                set req.http.Cookie = regsub(req.http.Cookie, "(^|; *)upstage_seen=1(; *|$)", "\1");
            }
        }
    }
}

# Who is known may have waited for the same page as a stranger, whose fetch got no place. Then it fetches the page itself.
sub vcl_backend_error {
    set beresp.http.X-Stranger = bereq.http.X-Stranger;
}
sub vcl_deliver {
    if (resp.http.X-Stranger == "yes" && resp.http.X-Failed && req.http.X-Known && !req.hash_always_miss) {
        set req.hash_always_miss = true;
        return (restart);
    }
    unset resp.http.X-Stranger;
}

# Not for a page of which there is an old copy: it is not asked for once. Not for a form that is sent: nginx limits those. Nor for
# what the backend holds back, a webcam's next picture and a line that is being spoken: a place would be taken for seconds.
sub vcl_backend_fetch {
    if (!bereq.http.X-Known && !bereq.is_bgfetch && !bereq.http.X-Old &&
        (bereq.method == "GET" || bereq.method == "HEAD") && bereq.url !~ "^/(media/video|speech)/") {
        set bereq.http.X-Stranger = "yes";
    }
}
