#!/bin/sh
# The VCL anew, into the running varnishd: no request is dropped and the cache stays full. A file that does not compile
# is refused with its name and line, and the old version plays on.
# reload.sh [HOST]: the address that start.sh was given.
set -eu
. "$(dirname "$0")/settings.sh"

tell() { varnishadm -T "$cli" -S "$secret" "$@"; }

write_vcl
tell vcl.load "$classic" classic.vcl
tell vcl.load "$default" default.vcl || {
    tell vcl.discard "$classic"
    exit 1
}
tell vcl.label classic "$classic"
tell vcl.use "$default"

# The versions before. Who is still being served by one keeps it until the end of the answer.
for name in $(tell vcl.list); do
    case $name in
    "$classic" | "$default") ;;
    classic_* | default_*) tell vcl.discard "$name" >/dev/null 2>&1 || true ;; # listed twice, or gone already
    esac
done
