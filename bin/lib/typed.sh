#!/usr/bin/env bash
# typed.sh TARGET... -- NAME...: says why a variable that was typed behind `make` is refused. A command takes those that its line
# in the Makefile names, and every setting; a misspelt one would be ignored silently.
CDPATH='' cd -- "$(dirname "$0")/../.." >/dev/null || exit
. bin/lib/known.sh

targets=() takes=
while [ "$1" != -- ]; do
    targets+=("$1")
    takes+=" $(sed -n "s/^$1:.*## //p" Makefile | grep -oE '\<[A-Z_]+=' | tr -d = | sort -u | tr '\n' ' ')"
    shift
done
shift
for name; do
    is_known "$name" || [[ " $takes " == *" $name "* ]] || {
        takes=$(xargs <<<"$takes")
        echo "make ${targets[*]} knows no $name; it takes ${takes:+${takes// /, } and }the settings of .env.example"
        exit
    }
done
