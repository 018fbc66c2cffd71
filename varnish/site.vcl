# The VCL of your own site (extras/site): an application unknown to this stack, so its own headers decide. A
# response is stored if Cache-Control gives it a lifetime and neither Set-Cookie nor `private` forbids it;
# Vary is obeyed.
#
# UpStage's rules for paths are not here: an address that ends in .png is a page like any other. The query, and the Host
# header with its port, are left alone: no response shows whether the application uses them, for example in its links.

vcl 4.1;

import std;

include "site_backend.vcl"; # the application's address and limits: written by start.sh
include "client.vcl";
include "purge.vcl";
include "reject.vcl";
include "rules.vcl";        # your own: extras/site/rules.vcl, or empty

# Credentials: a cookie or a password. Such requests find only responses stored for them, which the
# application calls `public`, because any other may be for one person. So a signed-in user's page is never sent to
# another client, and a page for visitors never to a signed-in user. (The built-in VCL would pass all requests
# with a cookie, styles and scripts included, and every visitor of most applications has one.)
# https://www.rfc-editor.org/rfc/rfc9111#name-storing-responses-to-authen
sub vcl_req_authorization {
    if (req.http.Authorization) {
        set req.http.X-Credentials = "yes";
    }
    return;
}

sub vcl_req_cookie {
    if (req.http.Cookie) {
        set req.http.X-Credentials = "yes";
    }
    # A slow page for one person must not make another wait.
    if (req.http.X-Credentials) {
        set req.hash_ignore_busy = true;
    }
    return;
}

# The built-in VCL adds URL and host.
sub vcl_hash {
    hash_data(req.http.X-Credentials);
    hash_data(req.http.X-Error-Page);
    hash_data(req.http.X-Forwarded-Proto); # links may begin with it
}

sub vcl_backend_fetch {
    # A new connection for each request: it is unknown how long the application keeps an idle one, and a POST
    # into a closing connection is lost. (And a server that writes head and body apart, without TCP_NODELAY,
    # takes 40 ms longer over a used one: the kernel delays the acknowledgement.)
    set bereq.http.Connection = "close";
    unset bereq.http.X-Answered;
    unset bereq.http.X-Credentials;
    unset bereq.http.X-Site;
}

sub vcl_backend_response {
    if (!bereq.uncacheable) {
        # Large files, and streams that are not text, pass through: they would drive everything else out of the cache. A
        # pass also hands ranges on to the application.
        if (beresp.status == 200 && (std.integer(beresp.http.Content-Length, 0) > 8388608 ||
            (!beresp.http.Content-Length &&
             beresp.http.Content-Type !~ "^(text/(html|css|javascript|xml)|image/svg|application/(javascript|json|xml))"))) {
            std.log("rule: above 8 MB, or a stream that is not text");
            return (pass(120s));
        }
        if ((bereq.http.Cookie || bereq.http.Authorization) && beresp.http.Cache-Control !~ "(?i)(^|[, ])public") {
            std.log("rule: for one person");
            call vcl_beresp_hitmiss;
        }
    }
}

# An error of the application: an old copy is better, so the request is attempted again (stale.vcl). If there is none, the
# application is asked once more, and the client gets its error page, with all who wait for it.
sub vcl_backend_response {
    if (beresp.status >= 500 && !bereq.uncacheable) {
        if (bereq.http.X-Error-Page) {
            set beresp.ttl = 1s;
            set beresp.grace = 0s;
            set beresp.keep = 0s;
            if (beresp.http.Set-Cookie || beresp.http.Cache-Control ~ "(?i)(^|[, ])(private|no-store|no-cache)") {
                set beresp.uncacheable = true;
            }
            return (deliver);
        }
        set bereq.http.X-Answered = "yes";
        return (error(503));
    }
}

sub vcl_backend_error {
    # It has answered, so asking again immediately would get the same.
    if (bereq.http.X-Answered && !bereq.is_bgfetch) {
        call share_failure;
        return (deliver);
    }
}

# The third attempt asks for the error page, under a key of its own, so that it replaces no page. It waits for another
# client's, as a first attempt does.
sub vcl_miss {
    if (req.restarts == 1) {
        set req.http.X-Error-Page = "yes";
        return (restart);
    }
}

include "stale.vcl";

sub vcl_recv {
    if (req.http.X-Error-Page) {
        unset req.http.X-Attempt;
        set req.hash_ignore_busy = false;
    }
}
include "store.vcl";
include "gzip.vcl";

sub unavailable {
    set req.http.X-Title = "This site does not answer";
    set req.http.X-Message = "Please try again in a few seconds.";
}

include "pages.vcl";
include "cache_status.vcl";
include "conditional.vcl";
include "microcache.vcl";

# nginx would hold events back until a buffer is full, and a page that the application writes part by part.
sub vcl_deliver {
    if (resp.http.Content-Type ~ "^text/event-stream" ||
        (obj.uncacheable && !resp.http.Content-Length && resp.http.Content-Type ~ "^text/")) {
        set resp.http.X-Accel-Buffering = "no";
    }
}
