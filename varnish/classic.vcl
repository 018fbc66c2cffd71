# classic.localhost: the VCL of 2011, rule by rule and in its order, in the language of today.
#
# Some rules need no line any more: the built-in VCL has them now, or a file that the default host reads too; what
# stands in their place says which. docs/vcl-2011-to-4.1.md puts the old lines beside the new ones.

vcl 4.1;

import std;

# For a name that no rule below knows there is no theatre.
backend default none;

# The backend "upstage"; its limits are in limits.vcl, to be tuned.
include "backends.vcl";

# Not in the article: one spelling, clean addresses.
include "normalise.vcl";

# "Set the backend for domain": several UpStages behind one Varnish are several of these.
sub vcl_recv {
    if (req.http.Host ~ "(?i)^classic\.localhost$") {
        set req.backend_hint = upstage;
    }
}

# Not in the article: replaced pictures taken back, no purging from outside, the old copy rather than an error.
include "purge.vcl";
include "checks.vcl";
include "stale.vcl";

# "Allow purging of cache using shift + reload": the object is fetched anew, for everybody.
sub vcl_recv {
    # Not on the second try (stale.vcl), which is after the old copy.
    set req.hash_always_miss = (req.restarts == 0 && req.http.Cache-Control ~ "no-cache");
}

# "Do not cache /admin/ or /swf/". Nor webcam frames: in 2011 they would have stood still for 12 hours.
sub vcl_recv {
    if (req.url ~ "^/(admin|swf|ws|media/video)(/|\?|$)") {
        return (pass);
    }
}

# "Unset any cookies and authorization data for static media", "cache images for 12 hours".
include "media.vcl";

# "Do not cache any POST'ed data", "any non-standard requests": the built-in vcl_req_method, and checks.vcl.

# "return(lookup)": the built-in vcl_recv. A page asked for with a cookie is passed now; in 2011 it was looked up, too.

# "Do not cache anything that does not return a value in the 200's".
include "store.vcl";

# "Do not cache content which varnish has marked uncachable": the built-in vcl_beresp_control and its neighbours.

# What says how long it may be kept is kept without its cookie; unless it is for one person, or was asked for by one.
sub vcl_backend_response {
    if (beresp.http.Cache-Control ~ "max-age" && beresp.http.Cache-Control !~ "private" && !bereq.uncacheable) {
        unset beresp.http.Set-Cookie;
    }
}

# URL and host are the key, "we do not want to always set the cookie": the built-in vcl_hash.

# Not in the article: our own 503 page, and Cache-Status.
include "pages.vcl";
include "report.vcl";
