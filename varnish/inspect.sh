#!/bin/sh
# Every request that Varnish has answered, a line each: the browser's address (nginx's would be the same in all lines),
# how Varnish handled it, how long that took, and the id that finds it in the other logs. Health checks are left out.
exec varnishncsa -n /var/lib/varnish/varnishd -q 'ReqURL ne "/.varnish/health"' -F \
    '%{X-Forwarded-For}i "%r" %{Host}i %s %b %{Varnish:handling}x %{Varnish:time_firstbyte}xs id=%{X-Request-Id}i'
