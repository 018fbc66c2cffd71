#!/bin/sh
# nginx cannot read environment variables in its configuration, so the one list a user may extend is written here.
# start.sh [CONFIGURATION [PREFIX]]; both have the containers' paths as defaults.
set -eu
conf=${1:-/etc/nginx/proscenium/nginx.conf}
prefix=${2:-/tmp}
generated=$(dirname "$conf")/../generated

case ${SERVER_NAMES:-} in
*[!A-Za-z0-9.:_\ \[\]*-]*)
    echo "SERVER_NAMES may hold names and addresses separated by spaces, nothing else: '$SERVER_NAMES'" >&2
    exit 1
    ;;
esac
echo "server_name upstage.localhost localhost 127.0.0.1 [::1] ${SERVER_NAMES:-};" >"$generated/server_names.conf"

# Debian's list of modules names them relative to the prefix.
ln -sfn /usr/lib/nginx/modules "$prefix/modules"

exec nginx -e stderr -p "$prefix" -c "$conf"
