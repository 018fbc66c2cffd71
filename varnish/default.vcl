# The VCL of the default host: it serves whatever the backend has already produced.
#
# The files below are one program, read in the order a request meets them. Where two files define the same subroutine,
# Varnish runs both, one after another, and then its own built-in VCL. No file replaces that built-in code (which, for
# example, passes requests with a cookie); they add to its hooks: vcl_req_cookie, vcl_beresp_control ...
# https://varnish-cache.org/docs/7.1/users-guide/vcl-built-in-subs.html
#
# varnish/tests/rules.txt lists the rules, each with the requests that test it. (Rules that need several clients, an expired
# copy or the log are VTCs in varnish/tests/.)

vcl 4.1;

import std;

include "backends.vcl";     # the backend and its address: written by start.sh
include "client.vcl";       # the headers that later rules trust: client address, request id, range
include "anonymous.vcl";    # clients without a cookie, crawlers among them: the backend learns who they are
include "normalise.vcl";    # one spelling for each request: host and query
include "queries.vcl";      # pages have no arguments
include "deployment.vcl";   # additions of this deployment: written by start.sh, empty here
include "starter/varnish/purge.vcl"; # how the backend purges a replaced picture
include "reject.vcl";       # malformed and unsupported requests: 400, 405, 414, 501
include "routes.vcl";       # the health check and WebSockets
include "passed.vcl";       # paths that bypass the cache: /admin, /swf, /ws, /media/video
include "media.vcl";        # files that are the same for every client: cached for 12 hours
include "pages.vcl";        # the pages that Varnish writes itself
include "upstage_page.vcl"; # UpStage fails: one more attempt, and what our 503 page says
include "starter/varnish/stale.vcl"; # expired copies, and a backend that does not answer
include "store.vcl";        # what may be stored, and for how long
include "gzip.vcl";         # text is compressed once, when it is stored
include "rule.vcl";         # on /try/, why a response was not stored
include "cache_status.vcl"; # Cache-Status and Server-Timing: every response says what happened
include "microcache.vcl";   # responses that nginx may cache until the end of the second
include "large_media.vcl";  # files that nginx sends from the disk
include "conditional.vcl";  # conditional requests that a copy answers: 304 or 412
include "trace.vcl";        # the fetch in a trace
