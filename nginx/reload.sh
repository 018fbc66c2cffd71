#!/bin/sh
# Loads the current files and settings into the running nginx without losing a request. nginx reports a mistake with
# file and line, and keeps its old configuration.
. "$(dirname "$0")/scripts/render.sh"
nginx -t -q -e stderr -p "$PREFIX" -c "$configuration"
[ -s "$PREFIX/nginx.pid" ] || die "nginx is not running: there is no $PREFIX/nginx.pid"
master=$(cat "$PREFIX/nginx.pid")

new=$(fingerprint)
if [ "$new" = "$(cat "$PREFIX/loaded")" ]; then
    exit # `make reload` after a change of the VCL only
fi

# A replaced worker stays until its WebSockets close (worker_shutdown_timeout). One generation of such workers may stay;
# an older one ends now, and its clients reconnect. Otherwise a morning of edits would fill the container with workers.
for process in /proc/[0-9]*; do
    if grep -qs "^PPid:[[:space:]]*$master\$" "$process/status" && grep -qs 'shutting down' "$process/cmdline"; then
        kill -TERM "${process#/proc/}"
    fi
done
kill -HUP "$master"
echo "$new" >"$PREFIX/loaded"
