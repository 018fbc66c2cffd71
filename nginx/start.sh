#!/bin/sh
# start.sh [CONFIGURATION [PREFIX]]: how nginx runs, in a container and as a plain process.
. "$(dirname "$0")/generate.sh"
fingerprint >"$prefix/loaded"
exec nginx -e stderr -p "$prefix" -c "$conf"
