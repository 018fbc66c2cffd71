#!/bin/sh
# Succeeds if the running nginx has loaded the files and settings that are here now.
. "$(dirname "$0")/scripts/render.sh"
[ "$(fingerprint)" = "$(cat "$PREFIX/loaded")" ]
