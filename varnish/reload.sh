#!/bin/sh
# Reloads the VCL of the running varnishd: no request is dropped and the cache stays full. If a file does not compile,
# varnishd reports file and line and keeps the old version.
set -eu
. "$(dirname "$0")/settings.sh"

# cli COMMAND...: sends varnishd a command. https://varnish-cache.org/docs/7.1/reference/varnish-cli.html
cli() { varnishadm -t 60 -T "$VARNISH_LISTEN_CLI" -S "$secret" "$@"; }

# load NAME FILE: loads the file under this name. varnishd says which line of it is wrong, but not that there is no room for what it
# compiles.
load() {
    cli vcl.load "$1" "$2" && return
    room=$(df -Pk "$VARNISH_WORKDIR" | awk 'END { print $4 }')
    [ "$room" -ge 1024 ] || echo "There are only $room kB left in $VARNISH_WORKDIR." >&2
    return 1
}

write_vcl
load "$classic" classic.vcl
discard() { for name in "$@"; do cli vcl.discard "$name"; done; }
if [ "$APP" ]; then load "$app" app.vcl || { discard "$classic"; exit 1; }; fi
load "$default" default.vcl || {
    discard "$classic" ${APP:+"$app"}
    exit 1
}
cli vcl.label classic "$classic"
[ -z "$APP" ] || cli vcl.label app "$app"
cli vcl.use "$default"

# Discard the older versions. A request in progress keeps its version until the end of the response.
for name in $(cli vcl.list); do
    case $name in
    "$classic" | "$app" | "$default") ;;
    classic_* | app_* | default_*) cli vcl.discard "$name" >/dev/null 2>&1 || true ;; # listed twice, or gone already
    esac
done
