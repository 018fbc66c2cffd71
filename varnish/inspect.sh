#!/bin/sh
# Varnish's access log: for each request the browser's address (the connection's is always nginx's), how Varnish handled
# it, how long that took, and the id that finds it in the other logs. Health checks are left out.
# https://varnish-cache.org/docs/7.1/reference/varnishncsa.html
case $(varnishncsa -V 2>&1) in
*vinyl*) product=Vinyl ;; # Vinyl Cache has its own name in these fields
*) product=Varnish ;;
esac
exec varnishncsa -n "${VARNISH_WORKDIR:-/var/lib/varnish/varnishd}" -q 'ReqURL ne "/.varnish/health"' -F \
    "%{X-Forwarded-For}i \"%r\" %{Host}i %s %b %{$product:handling}x %{$product:time_firstbyte}xs id=%{X-Request-Id}i"
