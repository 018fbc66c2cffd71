#!/bin/sh
# Runs nginx, in a container and as a plain process. The environment has the settings; README.md lists them.
. "$(dirname "$0")/scripts/render.sh"
fingerprint >"$PREFIX/loaded"
exec nginx -e stderr -p "$PREFIX" -c "$configuration"
