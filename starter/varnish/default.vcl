# What Varnish keeps: what the headers of your application allow (Cache-Control: max-age=60), and
# static files; nothing that is for one person.
#
# The files below are one program, read in the order in which a request meets them. A subroutine
# that stands in several of them runs several times, in this order; then Varnish's own subroutine
# of that name runs, which passes requests with a password or a cookie:
# https://varnish-cache.org/docs/trunk/users-guide/vcl-built-in-code.html

vcl 4.1;

import std;

include "backend.vcl";     # your application: its address, and how long it may take
include "client.vcl";      # what a client says about itself
include "analytics.vcl";   # arguments and cookies that only scripts in the browser read
include "rules.vcl";       # your own rules, before those below
include "headers.vcl";     # headers that are in no copy's key
include "purge.vcl";       # how your application drops changed pages
include "normalise.vcl";   # one spelling for one page
include "cookies.vcl";     # who may get a copy
include "unavailable.vcl"; # what nginx sends if your application does not answer
include "overflow.vcl";    # all connections to your application are taken
include "orders.vcl";      # what the application tells a proxy to do
include "stale.vcl";       # expired copies, and an application that fails
include "keep.vcl";        # what is kept, and for how long
include "report.vcl";      # every response says whether it is a copy, and if not, why not
