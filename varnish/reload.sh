#!/bin/sh
# Reloads the VCL of the running varnishd: no request is dropped and the cache stays full. If a file does not compile,
# varnishd reports file and line and keeps the old version.
set -eu
. "$(dirname "$0")/settings.sh"

# https://varnish-cache.org/docs/7.1/reference/varnish-cli.html
cli() { varnishadm -t 60 -T "$listen_admin" -S "$secret" "$@"; }

write_vcl
cli vcl.load "$classic" classic.vcl
cli vcl.load "$default" default.vcl || {
    cli vcl.discard "$classic"
    exit 1
}
cli vcl.label classic "$classic"
cli vcl.use "$default"

# Discard the older versions. A request in progress keeps its version until the end of the response.
for name in $(cli vcl.list); do
    case $name in
    "$classic" | "$default") ;;
    classic_* | default_*) cli vcl.discard "$name" >/dev/null 2>&1 || true ;; # listed twice, or gone already
    esac
done
