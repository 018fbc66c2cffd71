#!/bin/sh
# follow.sh NAME FOLDER: FOLDER/start.sh; and FOLDER/reload.sh whenever NAME stands for other addresses than before. In a Swarm
# a container that comes back has another one. Varnish looks its backend's name up once; nginx before 1.27.3 those of the
# Varnishes (a newer one follows them by itself, and its reload.sh finds nothing to do).
set -eu
name=$1 folder=$2

# Unknown names end after a second: an engine without a name server never answers for them.
export RES_OPTIONS="timeout:1 attempts:1"
addresses() { getent ahostsv4 "$name" | awk '$2 == "STREAM" { print $1 }' | sort; } # the answer's order is random

until seen=$(addresses) && [ "$seen" ]; do sleep 1; done
while sleep 1; do
    now=$(addresses)
    if [ "$now" ] && [ "$now" != "$seen" ] && sh "$folder/reload.sh"; then
        seen=$now
        echo "$name has moved" >&2
    fi
done &
exec sh "$folder/start.sh"
