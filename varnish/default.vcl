# What Varnish does for a theatre: it hands out the programmes, so that the backend can run the show.
#
# The files below are one programme, read in the order a request meets them. Where two files name the same subroutine,
# Varnish runs both, one after the other, and then its own built-in VCL. We never replace that built-in code (which
# knows, for one, that a request with a cookie is private); we add to its hooks: vcl_req_cookie, vcl_beresp_control ...
#
# The rules and the test of each are listed in README.md.

vcl 4.1;

import std;

include "backends.vcl";     # who is asked: the only file that changes from one deployment to another
include "normalise.vcl";    # one spelling for each request, and nothing in it that we did not check
include "profiles.vcl";     # what this deployment adds: another host, another backend; empty if there is none
include "purge.vcl";        # how the backend takes a replaced picture back
include "checks.vcl";       # what is no request for us: 400, 405, 414, 501
include "routes.vcl";       # what never meets the cache: /admin, /swf, /media/video, WebSocket
include "media.vcl";        # what is the same for everybody: kept 12 hours
include "stale.vcl";        # what to do when a copy is too old, or the backend does not answer
include "store.vcl";        # what may be stored at all, and for how long
include "gzip.vcl";         # text is compressed once, here and in no other tier
include "pages.vcl";        # the answers that Varnish writes itself
include "report.vcl";       # Cache-Status and Server-Timing: every answer says what happened
include "large_media.vcl";  # which files nginx sends from the disk
include "microcache.vcl";   # what nginx may keep for the rest of the second
