#!/bin/sh
# Loads the VCL as it is now into the running Varnish: no request is lost, and the copies stay. If
# it has a mistake, the old VCL stays in use.
set -eu
cd "$(dirname "$0")"
. ./files.sh
copy_files
cli() {
    varnishadm -t 60 -n /var/lib/varnish/varnishd "$@"
}
name=loaded_$(date +%s)
cli vcl.load "$name" default.vcl
cli vcl.use "$name"
