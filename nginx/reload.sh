#!/bin/sh
# reload.sh [CONFIGURATION [PREFIX]]: gives the running nginx the files as they are now, without losing a request. A
# mistake in them is named with file and line, and nginx goes on as it was.
. "$(dirname "$0")/generate.sh"
nginx -t -q -e stderr -p "$prefix" -c "$conf"
[ -s "$prefix/nginx.pid" ] || die "nginx does not run: there is no $prefix/nginx.pid"
master=$(cat "$prefix/nginx.pid")

new=$(fingerprint)
if [ "$new" = "$(cat "$prefix/loaded")" ]; then
    exit # a change of the VCL is none of nginx's
fi

# A worker that is replaced stays as long as its WebSockets do (worker_shutdown_timeout). One generation of those may
# stay; if the reload before this one has left any, they end now, and their audience reconnects. Otherwise a morning of
# edits would fill the container with workers.
for process in /proc/[0-9]*; do
    if grep -qs "^PPid:[[:space:]]*$master\$" "$process/status" && grep -qs 'shutting down' "$process/cmdline"; then
        kill -TERM "${process#/proc/}"
    fi
done
kill -HUP "$master"
echo "$new" >"$prefix/loaded"
