# Crawlers come from thousands of addresses, each of which asks for little, so no limit for one client sees them. But they bring no
# cookie, and ask for pages of which there is no copy.
#
# An *anonymous* client has neither a cookie nor a password. (The script of a stage sets the cookie `upstage_seen=1`, the
# same for every visitor; an application that a visitor signs in to sets its own.) Copies are for everyone. Of the fetches that
# anonymous clients cause, UpStage has only ANONYMOUS_FETCHES in progress at a time; the others wait in UpStage, each address in
# its turn, and get a 503 after 0.8 s (backend/src/upstage/net/lane.py). Varnish then asks once more (upstage_page.vcl). So an
# identified client gets a page that is in no cache as fast as if there were no crawlers, and a newcomer as fast as if each
# address asked for one page.

sub vcl_recv {
    if (req.restarts == 0) {
        unset req.http.X-Identified;
        unset req.http.X-Anonymous;
        if (req.http.Cookie || req.http.Authorization) {
            set req.http.X-Identified = "yes";
            # The cookie has now done its work, and no page depends on it: left in, it would make the request private.
            if (req.http.Cookie == "upstage_seen=1") {
                unset req.http.Cookie;
            } elsif (req.http.Cookie ~ "upstage_seen=1") {
                set req.http.Cookie = regsub(req.http.Cookie, "(^|; *)upstage_seen=1(; *|$)", "\1");
            }
        }
    }
}

# Marks the fetches that may have to wait. A page with an old copy does not wait, because a client has asked for it before; nor
# does a submitted form, because nginx limits forms.
sub vcl_backend_fetch {
    if (!bereq.http.X-Identified && !bereq.is_bgfetch && !bereq.http.X-Old &&
        (bereq.method == "GET" || bereq.method == "HEAD")) {
        set bereq.http.X-Anonymous = "yes";
    }
    unset bereq.http.X-Identified;
}
