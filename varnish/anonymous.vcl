# Crawlers come from thousands of addresses, each of which asks for little, so no limit for one client sees them. But they bring no
# cookie, and ask for pages of which there is no copy.
#
# An *anonymous* client has neither a cookie nor a password. (The script of a stage sets the cookie `upstage_seen=1`, the
# same for every visitor; an application that a visitor signs in to sets its own.) Copies are for everyone. Of the fetches that
# anonymous clients cause, UpStage has only ANONYMOUS_FETCHES in progress at a time; the others wait there for up to 0.8 s, each
# address in its turn, and then get a 503, twice (backend/src/upstage/net/lane.py, upstage_page.vcl). So a page that no cache has comes as
# soon for an identified client as if there were no crawlers, and for a newcomer as if each address asked for one page.

sub vcl_recv {
    if (req.restarts == 0) {
        unset req.http.X-Identified;
        unset req.http.X-Anonymous;
        if (req.http.Cookie || req.http.Authorization) {
            set req.http.X-Identified = "yes";
            # It has told what it has to tell: no page depends on it.
            if (req.http.Cookie == "upstage_seen=1") {
                unset req.http.Cookie;
            } elsif (req.http.Cookie ~ "upstage_seen=1") {
                set req.http.Cookie = regsub(req.http.Cookie, "(^|; *)upstage_seen=1(; *|$)", "\1");
            }
        }
    }
}

# Not for a page of which there is an old copy: it is not asked for once. Not for a form that is sent: nginx limits those. Nor for
# what the backend holds back, a webcam's next picture and a line that is being spoken: a place would be taken for seconds.
sub vcl_backend_fetch {
    if (!bereq.http.X-Identified && !bereq.is_bgfetch && !bereq.http.X-Old &&
        (bereq.method == "GET" || bereq.method == "HEAD") && bereq.url !~ "^/(media/video|speech)/") {
        set bereq.http.X-Anonymous = "yes";
    }
    unset bereq.http.X-Identified;
}
