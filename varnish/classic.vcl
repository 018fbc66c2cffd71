# The VCL of classic.localhost: the rules of 2011, in their order, in VCL 4.1.
#
# Some rules no longer need a line, because the built-in VCL has them now, or a file that the default host uses too; the
# comment in their place says which. docs/vcl-2011-to-4.1.md has the old lines beside the new ones.

vcl 4.1;

import std;

# A host name that no rule below knows has no backend.
backend default none;

# The backend "upstage"; its limits are in limits.vcl, to be tuned.
include "backends.vcl";

# Not in the article: clean client addresses, one spelling for each request.
include "client.vcl";
include "normalise.vcl";

# "Set the backend for domain": several UpStages behind one Varnish would be several of these.
sub vcl_recv {
    if (req.http.Host ~ "(?i)^classic\.localhost$") {
        set req.backend_hint = upstage;
    }
}

# Not in the article: the backend purges replaced pictures, clients cannot purge, and an old copy or our own page replaces an
# error.
include "starter/varnish/purge.vcl";
include "reject.vcl";
include "pages.vcl";
include "upstage_page.vcl";
include "starter/varnish/stale.vcl";

# "Allow purging of cache using shift + reload": the object is fetched again, for every client.
# https://varnish-cache.org/docs/7.1/reference/vcl-var.html (req.hash_always_miss)
sub vcl_recv {
    # Not on the second attempt (stale.vcl), which needs the old copy.
    set req.hash_always_miss = (req.restarts == 0 && req.http.Cache-Control ~ "no-cache");
    if (req.hash_always_miss) {
        std.log("rule: shift-reload");
    }
}

# "Do not cache /admin/ or /swf/". Webcam pictures pass, too: the rule for media would keep them for 12 hours.
include "passed.vcl";

# "Unset any cookies and authorization data for static media", "cache images for 12 hours".
include "media.vcl";

# "Do not cache any POST'ed data", "any non-standard requests": the built-in vcl_req_method, and reject.vcl.

# "return(lookup)": the built-in vcl_recv. A page requested with a cookie is passed now; in 2011 it was looked up.

# "Do not cache anything that does not return a value in the 200's".
include "store.vcl";

# "Do not cache content which varnish has marked uncachable": the built-in vcl_beresp_control and its neighbours.

# A response with max-age is stored without its cookie, unless it is private or its request was passed.
sub vcl_backend_response {
    if (beresp.http.Cache-Control ~ "max-age" && beresp.http.Cache-Control !~ "private" && !bereq.uncacheable) {
        unset beresp.http.Set-Cookie;
    }
}

# URL and host are the key, "we do not want to always set the cookie": the built-in vcl_hash.

# Not in the article: Cache-Status, and conditional requests by RFC 9110.
include "rule.vcl";
include "cache_status.vcl";
include "conditional.vcl";

# Not in the article: the fetch in a trace.
include "trace.vcl";
