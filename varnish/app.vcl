# The VCL for your own application (extras/app). It consists of the starter's rules (starter/varnish/default.vcl) without its
# reports, of your own rules, and of this stack's rules for every server: checks of what clients claim, error pages, reports,
# and nginx's one-second copies.

vcl 4.1;

import std;

include "client.vcl";
include "anonymous.vcl";
include "app_backend.vcl"; # the application's address and limits: written by start.sh

# The application may purge its own copies only, and none of UpStage's. A browser may purge nothing: on this machine a web page
# may have sent it here, or a name that has been given this machine's address (app_backend.vcl knows the right names).
sub vcl_recv {
    if (local.socket == "purge_app") {
        if (req.http.Origin || req.http.Sec-Fetch-Site) {
            std.log("rule: a browser may not purge");
            return (synth(403));
        }
        set req.http.X-Whose = "&& obj.http.X-Own-App == yes";
    }
}
sub vcl_backend_response {
    set beresp.http.X-Own-App = "yes";
    unset beresp.http.X-Small; # microcache.vcl
}

sub say_unavailable {
    set req.http.X-Title = "This site does not answer";
    set req.http.X-Message = "Please try again in a few seconds.";
}

include "pages.vcl";
include "starter/varnish/analytics.vcl";
include "rules.vcl"; # your own, and a recipe: written by start.sh
include "starter/varnish/headers.vcl";
include "starter/varnish/purge.vcl";
include "starter/varnish/normalise.vcl";
include "starter/varnish/cookies.vcl";
include "starter/varnish/overflow.vcl";
include "starter/varnish/orders.vcl";
include "starter/varnish/stale.vcl";
include "starter/varnish/keep.vcl";
include "reject.vcl";

sub vcl_backend_fetch {
    # A new connection for each request: it is unknown how long the application keeps an idle one, and the relay cannot say that
    # the application has closed one. (And a server that writes head and body apart, without TCP_NODELAY, takes 40 ms longer over
    # a used connection: the kernel delays the acknowledgement.)
    set bereq.http.Connection = "close";
    unset bereq.http.X-Own-App;
    unset bereq.http.X-Anonymous;
}

sub vcl_deliver {
    unset resp.http.X-Own-App;
    unset resp.http.X-Cache-Tags;
}

# `make watch` and `make trace` say why a request was passed.
sub vcl_req_authorization {
    if (req.http.Authorization) {
        std.log("rule: a password");
    }
}

sub vcl_req_cookie {
    if (req.http.Cookie) {
        std.log("rule: a cookie");
    }
}

include "cache_status.vcl";
include "conditional.vcl";
include "microcache.vcl";
include "trace.vcl";
