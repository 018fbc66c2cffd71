#!/bin/sh
# reload.sh [CONFIGURATION [PREFIX]]: gives the running nginx the files as they are now, without losing a request. A
# mistake in them is named with file and line, and nginx goes on as it was.
. "$(dirname "$0")/generate.sh"
nginx -t -q -e stderr -p "$prefix" -c "$conf"
[ -s "$prefix/nginx.pid" ] || die "nginx does not run: there is no $prefix/nginx.pid"
kill -HUP "$(cat "$prefix/nginx.pid")"
