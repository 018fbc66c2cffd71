#!/bin/sh
# follow.sh NAME FOLDER: FOLDER/start.sh; and FOLDER/reload.sh when NAME stands for other addresses than before. In a Swarm a
# container that comes back has another one. Varnish looks its backend's name up once; nginx before 1.27.3 those of the
# Varnishes (a newer one follows them by itself, and its reload.sh finds nothing to do).
#
# A lost address alone is no reason for half a minute: nginx does without it, and an update of all the Varnishes is half as many
# reloads, of which each leaves workers behind that still have WebSockets.
set -eu
name=$1 folder=$2

# Unknown names end after a second: an engine without a name server never answers for them.
export RES_OPTIONS="timeout:1 attempts:1"
addresses() { getent ahostsv4 "$name" | awk '$2 == "STREAM" { print $1 }' | sort; } # the answer's order is random

until loaded=$(addresses) && [ "$loaded" ]; do sleep 1; done
before=$loaded lost=0
while sleep 1; do
    now=$(addresses)
    [ "$now" ] || continue
    if [ "$now" = "$loaded" ] && [ "$now" = "$before" ]; then
        lost=0
    elif echo "$now" | grep -qvxF "$before" || [ $lost -ge 30 ]; then # a new one, which may have been another's until now
        sh "$folder/reload.sh" || continue
        loaded=$now lost=0
        echo "$name has moved" >&2
    else
        lost=$((lost + 1))
    fi
    before=$now
done &
exec sh "$folder/start.sh"
