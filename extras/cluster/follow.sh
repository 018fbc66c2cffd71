#!/bin/sh
# follow.sh NAME FOLDER [OPTION...]: runs FOLDER/start.sh with the options, and FOLDER/reload.sh whenever NAME stands for other
# addresses than before: in a Swarm, a container that comes back has another address. Varnish looks its backend's name up only once,
# and so does nginx before 1.27.3 with the Varnishes' names (a newer nginx follows them by itself, and its reload.sh finds nothing
# to do).
#
# For half a minute, an address that is only lost causes no reload: nginx works without it, and an update of all the Varnishes
# then needs half as many reloads. Each of them leaves workers behind that still serve WebSockets.
set -eu
name=$1 folder=$2
shift 2

# Give up an unknown name after a second: an engine without a name server never answers for it.
export RES_OPTIONS="timeout:1 attempts:1"
addresses() { getent ahostsv4 "$name" | awk '$2 == "STREAM" { print $1 }' | sort; } # the answer's order is random

until loaded=$(addresses) && [ "$loaded" ]; do sleep 1; done
before=$loaded lost=0 pause=1
while sleep $pause; do
    now=$(addresses)
    if [ ! "$now" ]; then # the backend is being updated: each tenth of a second counts
        pause=0.1
        continue
    fi
    pause=1
    if [ "$now" = "$loaded" ] && [ "$now" = "$before" ]; then
        lost=0
    elif echo "$now" | grep -qvxF "$before" || [ $lost -ge 30 ]; then # a new address, even one that another container had
        sh "$folder/reload.sh" || continue
        loaded=$now lost=0
        echo "$name has moved" >&2
    else
        lost=$((lost + 1))
    fi
    before=$now
done &
exec sh "$folder/start.sh" "$@"
