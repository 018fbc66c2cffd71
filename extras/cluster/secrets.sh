#!/bin/sh
# secrets.sh COMMAND...: runs the command with each Swarm secret as a variable of its environment.
set -eu
for file in /run/secrets/*; do
    [ ! -f "$file" ] || export "${file##*/}=$(cat "$file")"
done
exec "$@"
