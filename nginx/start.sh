#!/bin/sh
# Runs nginx, in a container and as a plain process. The environment has the settings; README.md lists them.
starting=yes # for render.sh
. "$(dirname "$0")/scripts/render.sh"
# nginx raises its limit of open files to worker_rlimit_nofile. If the engine allows less, nginx says so and keeps this one.
# shellcheck disable=SC3045  # dash has these options
ulimit -Sn 20000 2>/dev/null || ulimit -Sn "$(ulimit -Hn)"
rm -f "$PREFIX/app.sock" # left by a killed nginx
fingerprint >"$PREFIX/loaded"
exec nginx -e stderr -p "$PREFIX" -c "$configuration"
