#!/bin/sh
# Starts Varnish; with arguments, such as those of `docker compose run varnish`, runs these.
set -eu
if [ $# -gt 0 ]; then
    exec "$@"
fi
cd "$(dirname "$0")"
. ./files.sh

# A second Varnish would replace the socket of the first, so it ends here. varnishd closes all files
# that it inherits but standard output, which it does not use with -F: that one becomes the lock.
exec 9>>/run/web/varnish.lock
flock -w 2 9 || {
    echo "Another Varnish of this stack is running. This one has changed nothing, and ends." >&2
    exit 1
}
# A connection is an open file. Docker 29 lets a process open 1,024, and raise that itself.
# shellcheck disable=SC3045  # dash has these options
ulimit -Sn 20000 2>/dev/null || ulimit -Sn "$(ulimit -Hn)"
copy_files

# The listeners are for nginx, for its clients with the token, and for containers in the network
# `purge`.
# shellcheck disable=SC2046  # the words of the file are options
exec setpriv --reuid 1000 --regid 1000 --clear-groups varnishd -F -n /var/lib/varnish/varnishd \
    -p "vcl_path=$copied" -f "$copied/default.vcl" \
    -s "malloc,$VARNISH_SIZE" $(grep -v '^#' options) \
    -a nginx=/run/web/varnish.sock,mode=666 \
    -a purge=/run/web/purge.sock,mode=666 \
    -a purge_network=:6081 >&9
