#!/bin/sh
# Runs nginx, in a container and as a plain process. The environment contains the settings, which nginx/settings.md lists.
starting=yes # for render.sh
. "$(dirname "$0")/scripts/render.sh"
more_files
rm -f "$PREFIX/app.sock" "$PREFIX/crawlers.sock" # left by a killed nginx
fingerprint >"$PREFIX/loaded"
exec nginx -e stderr -p "$PREFIX" -c "$configuration"
