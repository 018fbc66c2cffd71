#!/bin/sh
# Loads the current files and settings into the running nginx without losing a request. nginx reports a mistake with
# file and line, and keeps its old configuration. `reload.sh test` only tests them.
. "$(dirname "$0")/scripts/render.sh"
nginx -t -q -e stderr -p "$PREFIX" -c "$configuration"
[ "${1:-}" != test ] || exit 0
[ -s "$PREFIX/nginx.pid" ] || die "nginx is not running: there is no $PREFIX/nginx.pid"
master=$(cat "$PREFIX/nginx.pid")

new=$(fingerprint)
if [ "$new" = "$(cat "$PREFIX/loaded")" ]; then
    exit # `make reload` after a change of the VCL only
fi

# workers TITLE: prints the numbers of the worker processes with these words in their title.
workers() {
    for process in /proc/[0-9]*; do
        if grep -qs "^PPid:[[:space:]]*$master\$" "$process/status" && grep -qs "$1" "$process/cmdline"; then
            echo "${process#/proc/}"
        fi
    done
}
# A replaced worker stays until its WebSockets close (worker_shutdown_timeout). Four generations of four may stay; the oldest
# ends now, and its clients reconnect. Otherwise a morning of edits would fill the container with workers.
for worker in $(workers 'shutting down'); do
    awk '{ print $22, $1 }' "/proc/$worker/stat" # the time of its start, and its number
done | sort -n | head -n -12 | while read -r _ worker; do kill -TERM "$worker"; done
old=$(workers 'worker process')
kill -HUP "$master"
# Until all old workers are shutting down, requests may still meet the old configuration.
for _ in $(seq 200); do
    left=$(workers 'worker process')
    leaving=$(workers 'shutting down')
    # Old workers that remain and are not shutting down are in the first two lists and not in the third.
    if ! printf '%s\n' "$old" "$left" | sort | uniq -d | grep -qvxF "$leaving"; then
        echo "$new" >"$PREFIX/loaded"
        exit
    fi
    sleep 0.1
done
die "nginx still has its old configuration; its log says why."
